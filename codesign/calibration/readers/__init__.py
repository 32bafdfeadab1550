"""One reader per format that engines write."""
