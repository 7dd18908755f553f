// Package answer reads archived responses: response and revisit records of any crawler.
//
// Mirror, WACZ export, update and explain share this reader, so that they agree on a record. Each decides for itself how to
// treat a damaged, truncated or missing one. The audit has its own reader: a witness must not depend on the code it checks.
package answer
