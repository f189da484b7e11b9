"""Plans and releases as text for people: rich renderables that know no console."""
