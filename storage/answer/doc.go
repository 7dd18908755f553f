// Package answer reads archived responses: response and revisit records of any crawler.
//
// Mirror, WACZ file, update and explain ask the same of a record, and here they get one answer: its final head, past
// those that only announce it; the media type and charset; the record that a revisit refers to; the digest of the
// payload, and whether all of the body is there; the body without its codings; and the decision in the metadata record
// behind it. Each of them decides for itself what to do with a record that is damaged, cut or not found.
//
// The audit has a reader of its own: a witness must not read with the eyes of the accused.
package answer
