"""Results and predictions as people read them: tables, JSON, CSV, files."""
