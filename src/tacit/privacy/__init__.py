"""Units, budgets and what has been spent."""
