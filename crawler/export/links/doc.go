// Package links makes the rows of the table links: each mention of a URL in the archived documents of one or more
// crawls, with what the crawl made of it.
//
// # Three passes
//
//  1. A Reader reads each answer with package extract, in the walk that the crawler reads it with, and keeps its
//     mentions as a Document: some tens of bytes each, in memory up to a bound and then in a file. Several goroutines may
//     read at once.
//  2. A Table is given the lines of the ledgers, in their order, and the documents, in the order that rows are to have.
//     Lines and mentions go into one external sort, by a digest of the target's key: what the ledger says of a URL comes
//     out beside the mentions of it, and goes into a second one, by the place of the mention.
//  3. Rows reads the documents again, one after the other, with what was found of each mention beside it.
//
// No memory depends on the number of documents, of mentions, or of lines; nor on how many mentions one document has.
//
// # What is a mention
//
// All that extract.Mention tells: so what package extract does not look at (contents of templates, scripts, forms, ping,
// quotations) is none here. Besides, the Location of an answer of 3xx is one. A document that is not read to its end has
// a last row that says why, and so has one whose body is not there.
//
// # In scope, and followed
//
// Scope judges a mention as the crawler would: by the settings as they are now, the seeds that the ledger has, and where
// their redirects led. The ledger does not say how many embed steps led to a document; one stands for however many
// there were (as in package found). Whether a target was followed, and what became of it, is of the latest line that the
// ledger has of it: by whatever way it was found, and in whatever generation.
package links
