"""Importances of variables, and plots of studies."""
