// Package finding defines the codes, positions and findings of an audit.
package finding
