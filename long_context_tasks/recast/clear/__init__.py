"""Whether every name or number of a passage is clear: what it names, or whether it counts.

Where that is not sure, the passage is not shown in recall: a right answer has to be right for every careful reader.
"""
