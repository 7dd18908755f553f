// Package finding defines the codes, positions and findings of an audit. Reader, judges and witnesses of package audit
// all make them; none of them counts any.
package finding
