// Package prune removes the parts of a page that link extraction does not need.
//
// A tree is the larger part of what reading a page costs, and most of its nodes are there for nobody: text, paragraphs,
// lists, boxes. So a page that is not large is read once as a string, and what can carry neither a link nor a base, a
// title or a directive is gone before the tree is built. The parser decides what the rest means, as it does without
// pruning. Package extract would find the same without this package, three times slower; its
// FuzzPrune_EqualsTheWholeTree holds both equal.
//
// Tree construction (HTML Standard 13.2.6) decides what may go:
//
//   - Nothing, until there was text that is more than white space. From then on the body has begun, and no frameset can
//     take its place; whether further text comes makes no difference to any element.
//   - Then text, comments, and the tags of elements that only nest (dull). They decide what other dull elements end,
//     and how often a link is opened anew because what it stands in ends before it does: a link that the whole tree has
//     twice for that is met once here. The order in which links are first met does not depend on them.
//   - Elements that decide where others go, as those of tables do, stay, and so do all that are not known. A dull one
//     that stays because of its attributes is ended at once.
//   - Where the parser reads tags otherwise than a tokenizer by itself, all stays, to the end (the tail). That is so in
//     templates, and in SVG and MathML; but an svg element of well-known shapes, each of which ends, is a picture,
//     which goes or stays as one.
//   - With Pruner.Anchors the text of links stays: there is more text in the tree, and no other element first.
//   - If a part that was left out could have ended something of that kind, or have moved a script out of a table, the
//     whole page is parsed instead.
package prune
