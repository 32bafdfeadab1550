"""What is not known, drawn jointly, and what that means for the choice."""
