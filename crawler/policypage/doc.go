// Package policypage writes and checks the public identity of a crawler: a page and two JSON documents. It writes them,
// reads back what somebody published, and says where that differs from what should be there.
//
//	Statement ─▶ Page       one static HTML file, no scripts, nothing loaded
//	          ─▶ Ranges     addresses, draft-illyes-webbotauth-jafar-00
//	          ─▶ Card       signature agent card, draft-meunier-webbotauth-registry-03
//	published ─▶ Look       the same three, and the key directory that the card names, held against a Statement
//
// The page links the address ranges with the relation client-ranges, as draft-illyes-webbotauth-cbcp-00 asks, and the card
// with describedby. Its values stand in elements with the attribute data-curtsy, which tells Look what is what; a page
// that somebody wrote without these agrees if a value stands anywhere in its text.
//
// All that is read is foreign: each document is at most MaxDocument bytes, and what is repeated of it is cut and escaped by
// whoever shows it. The package opens no file and no connection; Look asks for documents through a function of its
// caller.
package policypage
