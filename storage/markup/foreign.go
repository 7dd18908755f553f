package markup

// foreign follows where SVG and MathML begin and end (HTML Standard 13.2.6.5), as far as that can be told without a
// tree: exactly where elements are closed in order.
type foreign struct{ open []alien }

// alien is an open foreign element.
type alien struct {
	name  string
	space byte // 's' of SVG, 'm' of MathML
	point bool // what is in it is HTML
}

// inside reports whether the innermost open element is a foreign one.
func (f *foreign) inside() bool { return len(f.open) > 0 }

// start takes a start tag, and reports whether it is of a foreign element.
func (f *foreign) start(t *tag) bool {
	if n := len(f.open); n > 0 && !f.open[n-1].point {
		if !breaksOut(t) {
			f.push(t, f.open[n-1].space)
			return true
		}
		for len(f.open) > 0 && !f.open[len(f.open)-1].point {
			f.open = f.open[:len(f.open)-1]
		}
	}
	switch t.name {
	case "svg":
		f.push(t, 's')
	case "math":
		f.push(t, 'm')
	default:
		return false
	}
	return true
}

func (f *foreign) push(t *tag, space byte) {
	// An annotation of a formula may hold SVG at once.
	if n := len(f.open); t.name == "svg" && n > 0 && f.open[n-1].name == "annotation-xml" {
		space = 's'
	}
	t.svg = space == 's'
	if t.closed || len(f.open) == maxOpen {
		return
	}
	a := alien{name: t.name, space: space}
	switch t.name {
	case "foreignobject", "desc", "title":
		a.point = space == 's'
	case "mi", "mo", "mn", "ms", "mtext":
		a.point = space == 'm'
	case "annotation-xml":
		a.point = space == 'm' && t.attribute("encoding") != nil
	case "style", "script":
		return // see scanner.startTag
	}
	f.open = append(f.open, a)
}

// end takes an end tag.
func (f *foreign) end(name string) {
	for i := len(f.open) - 1; i >= 0; i-- {
		if f.open[i].name == name {
			f.open = f.open[:i]
			return
		}
	}
	n := len(f.open)
	if n == 0 || f.open[n-1].point || !closesAround(name) {
		return
	}
	for len(f.open) > 0 && !f.open[len(f.open)-1].point {
		f.open = f.open[:len(f.open)-1]
	}
}

// cut closes all but the first n elements.
func (f *foreign) cut(n int) { f.open = f.open[:min(n, len(f.open))] }

// breaksOut reports whether a start tag ends foreign content.
func breaksOut(t *tag) bool {
	switch t.name {
	case "b", "big", "blockquote", "body", "br", "center", "code", "dd", "div", "dl", "dt", "em", "embed", "h1", "h2",
		"h3", "h4",
		"h5", "h6", "head", "hr", "i", "img", "li", "listing", "menu", "meta", "nobr", "ol", "p", "pre", "ruby", "s", "small",
		"span",
		"strong", "strike", "sub", "sup", "table", "tt", "u", "ul", "var":
		return true
	case "font":
		return t.attribute("color") != nil || t.attribute("face") != nil || t.attribute("size") != nil
	}
	return false
}

// closesAround reports whether an end tag that matches no open foreign element closes one of HTML around them, in pages
// whose elements are closed in order. The names are of elements that foreign content has not.
func closesAround(name string) bool {
	switch name {
	case "article", "aside", "body", "button", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "footer",
		"form", "h1", "h2",
		"h3", "h4", "h5", "h6", "header", "html", "label", "li", "main", "nav", "ol", "p", "br", "section", "span", "table",
		"tbody",
		"td", "th", "thead", "tr", "ul":
		return true
	}
	return false
}
