"""Named bounds on sensitivities, each with its proof and a second route to its value."""
