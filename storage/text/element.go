package text

// What elements are to a text. Names are those of the HTML Standard, in small letters.

// class is what becomes of an element.
type class uint8

const (
	inline  class = iota
	block         // a line of its own
	cell          // parted from its neighbours by a space
	keeping       // a block that keeps its white space
	silent        // what it has is no text of the page
	format        // inline, and nothing that a tree is needed for
)

func classOf(name string) class {
	switch name {
	case "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "dir",
		"div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4",
		"h5", "h6", "head", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup",
		"option", "p", "search", "section", "select", "summary", "table", "tbody", "tfoot", "thead", "title", "tr", "ul":
		return block
	case "td", "th", "img", "input", "button", "textarea":
		return cell
	case "pre", "listing", "xmp", "plaintext":
		return keeping
	case "script", "style", "iframe", "noembed", "noframes":
		return silent
	case "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
		return format
	}
	return inline
}
