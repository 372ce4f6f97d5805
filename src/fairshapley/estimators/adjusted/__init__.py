"""The default method: units, plans of sizes, proxies, cross-fitted adjustment."""
