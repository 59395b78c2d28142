"""The models that metrics ask. A pure island: no Django."""
