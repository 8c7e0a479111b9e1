// Before anything is painted: the chosen theme, or that of the system.
try {
  const theme = localStorage.getItem("topicture-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The system's it is.
}
