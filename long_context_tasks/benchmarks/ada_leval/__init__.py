"""Ada-LEval: sort the segments of a book, find the accepted answer among many (Wang et al., NAACL 2024)."""
