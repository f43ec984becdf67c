"""Importances of variables, and pictures of studies."""
