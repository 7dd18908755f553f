// Package policypage writes the public identity of a crawler, and compares published documents with it.
//
//	Statement ─▶ Page       one static HTML file without scripts and requisites
//	          ─▶ Ranges     addresses, draft-illyes-webbotauth-jafar-00
//	          ─▶ Card       signature agent card, draft-meunier-webbotauth-registry-03
//	published ─▶ Look       the same three, and the key directory of the card, compared with a Statement
//
// The page links the address ranges with client-ranges (draft-illyes-webbotauth-cbcp-00) and the card with describedby.
// Attributes data-curtsy mark its values for Look; on a page without them a value may be anywhere in the text.
//
// Documents are hostile input of at most MaxDocument bytes; the caller escapes quotations of them. The package opens no
// files and connections: Look fetches documents through a function of its caller.
package policypage
