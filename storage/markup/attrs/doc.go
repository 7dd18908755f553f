// Package attrs bounds the attributes of a page before a parser sees it. Each takes a hundred bytes of a tree and more,
// and thirty of a tokenizer, and may be two bytes long.
//
// They are counted as the HTML Standard reads tags (13.2.5.6 to 13.2.5.40), wherever something looks like one. So too
// many are counted in comments, scripts and the like: where those end only a parser knows, and who wants to hide
// attributes must not be able to call them a script.
package attrs
