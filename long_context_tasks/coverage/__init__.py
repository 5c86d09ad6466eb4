"""Information coverage of the cases of any benchmark."""
