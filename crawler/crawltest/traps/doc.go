// Package traps has sites for tests of the recognition of traps: sites without end, and sites that look like such and
// are whole. No program imports it.
package traps
