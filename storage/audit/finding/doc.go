// Package finding has the words in which an audit says what it found: the codes of its checks, where a record stands,
// and a Finding itself. Reader, judges and witnesses of package audit all make them; none of them counts any.
package finding
