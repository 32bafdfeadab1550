"""What people write down: frozen, strict pydantic models and their YAML reader."""
