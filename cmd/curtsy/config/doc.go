// Package config reads the settings and seeds of a crawl from flags, the environment and files. It knows what a
// mistyped key is near to.
package config
