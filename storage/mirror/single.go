package mirror

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"curtsy/frontier/canon"
	"curtsy/storage/answer"
	"curtsy/storage/markup"
	"curtsy/storage/mediatype"
	"curtsy/storage/mirror/inline"
	"curtsy/storage/script"
	"curtsy/storage/warc"
)

// Why a requisite that could be within a page stays a file beside it.
const (
	insideLarge   = "too large"          // it is, or with what it needs itself
	insideFull    = "page full"          // the page has as much within it as it may
	insideModule  = "module"             // a script that imports others, or may
	insideCircle  = "circle"             // a sheet that imports itself, or too many in a row
	insideNeeds   = "needs a file"       // a sheet or drawing that needs what stays a file
	insideDamaged = "cannot be read"     // the file then says what is wrong
	insideOther   = "of another kind"    // sounds, films, frames, objects, manifests, parts of drawings
	insideNoUse   = "read by no browser" // fonts of old, and preloads of what is within the page
)

// packer puts what pages need into them. A data: URL depends on the archive alone, not on the page
// or the order, so that it is made once, and made again where it was forgotten.
type packer struct {
	w *writer

	mu     sync.Mutex
	known  map[*entry]map[markup.Role]*packed
	size   int // of the URLs in known
	owners map[string]*entry
	pages  map[*entry]holders
	files  map[*entry]bool // what references lead to as a file
	beside map[string]int64
}

// packed is an answer as a data: URL, or why it is none.
type packed struct {
	url     string
	why     string
	missing []missed // what its references name, and the mirror does not have
	holds   []*entry // it and what is within it
	none    []*entry // what no browser reads
	height  int      // documents within each other
}

type missed struct {
	url   canon.URL
	embed bool
}

// holders are the pages that have an answer within them.
type holders struct {
	count int64
	first string // by name
}

// maxPacked is how many bytes of data: URLs are remembered.
const maxPacked = 64 << 20

func newPacker(w *writer) *packer {
	p := &packer{w: w, known: map[*entry]map[markup.Role]*packed{}, owners: map[string]*entry{}, pages: map[*entry]holders{},
		files: map[*entry]bool{}, beside: map[string]int64{}}
	for i := range w.plan.entries {
		if e := &w.plan.entries[i]; e.state == isFile && e.flags&owner != 0 {
			p.owners[e.name] = e
		}
	}
	return p
}

// asFile notes that a reference leads to the file of e.
func (p *packer) asFile(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[p.owners[e.name]] = true
}

// page returns what a page's references become: what they name, where that can be within the page.
func (p *packer) page(doc *document, name string, missing func(canon.URL, bool)) func(markup.Ref, *entry) (string, bool) {
	room := inline.MaxPage
	held := map[*entry]bool{}
	told := map[*packed]bool{}
	return func(ref markup.Ref, e *entry) (string, bool) {
		e = p.owners[e.name]
		url, found := "", (*packed)(nil)
		why := insideOther
		switch inline.Of(ref, p.w.plan.texts.kinds[e.kind], e.name) {
		case inline.Nothing:
			url, why = inline.Empty, insideNoUse
		case inline.Inside:
			found = p.pack(doc, e, ref.Role, nil)
			if url, why = found.url, found.why; why == "" && len(url) > room {
				url, why = "", insideFull
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if why != "" {
			if ref.Role.Requisite() {
				p.beside[why]++
			}
			if url == "" {
				p.files[e] = true
			} else {
				p.hold(e, name, 0)
			}
			return url, url != ""
		}
		room -= len(url)
		for _, part := range found.holds {
			if !held[part] {
				held[part] = true
				p.hold(part, name, 1)
			}
		}
		for _, part := range found.none {
			p.hold(part, name, 0)
		}
		if !told[found] {
			told[found] = true
			for _, m := range found.missing {
				missing(m.url, m.embed)
			}
		}
		return url, true
	}
}

// hold notes that a page has an answer within it, n times more.
func (p *packer) hold(e *entry, page string, n int64) {
	h := p.pages[e]
	if h.count += n; h.first == "" || page < h.first {
		h.first = page
	}
	p.pages[e] = h
}

// pack makes a data: URL of an answer. Above are the answers that need it.
func (p *packer) pack(doc *document, e *entry, role markup.Role, above []*entry) *packed {
	if role != markup.Script && role != markup.Style {
		role = markup.Embed
	}
	p.mu.Lock()
	found := p.known[e][role]
	p.mu.Unlock()
	if found != nil {
		return found
	}
	if slices.Contains(above, e) || len(above) >= inline.MaxDeep {
		return &packed{why: insideCircle} // not to be remembered: it is so from here alone
	}
	found = p.make(doc, e, role, append(slices.Clone(above), e))
	if found.why == insideCircle && len(above) > 0 {
		return found
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size += len(found.url); p.size > maxPacked {
		clear(p.known)
		p.size = len(found.url)
	}
	if p.known[e] == nil {
		p.known[e] = map[markup.Role]*packed{}
	}
	p.known[e][role] = found
	return found
}

func (p *packer) make(doc *document, e *entry, role markup.Role, above []*entry) *packed {
	kind := p.w.plan.texts.kinds[e.kind]
	body, why := p.read(doc, e)
	switch {
	case why != "":
		return &packed{why: why}
	case role == markup.Script && inline.IsModule(body):
		return &packed{why: insideModule}
	}
	found := &packed{holds: []*entry{e}, height: 1}
	rewrite := rewriterOf(kind, e.name)
	if u, err := canon.Parse(e.key); rewrite != nil && role != markup.Script && err == nil {
		link := linker{plan: p.w.plan, url: u, file: e.name, loads: func(canon.URL) {}, nowhere: func() {},
			missing: func(u canon.URL, embed bool) { found.missing = append(found.missing, missed{u, embed}) },
			inside: func(ref markup.Ref, to *entry) (string, bool) {
				if found.why != "" {
					return inline.Empty, true // it is in vain
				}
				to = p.owners[to.name]
				url := inline.Empty
				switch inline.Of(ref, p.w.plan.texts.kinds[to.kind], to.name) {
				case inline.Inside:
					part := p.pack(doc, to, ref.Role, above)
					if url = part.url; part.why != "" {
						found.why = insideNeeds
						if part.why == insideCircle {
							found.why = insideCircle
						}
						return inline.Empty, true
					}
					if found.height = max(found.height, part.height+1); found.height > inline.MaxDeep {
						found.why = insideCircle
					}
					found.missing, found.holds = append(found.missing, part.missing...), append(found.holds, part.holds...)
					found.none = append(found.none, part.none...)
				case inline.Nothing:
					found.none = append(found.none, to)
				case inline.Beside:
					found.why = insideNeeds
				}
				return url, true
			}}
		body, err = rewrite(body, markup.Options{URL: u, ContentType: kind, RemoveBase: true, Declare: true, Most: inline.MaxURL}, link.visit)
		switch {
		case found.why != "":
			return &packed{why: found.why}
		case errors.Is(err, markup.ErrTooLarge):
			return &packed{why: insideLarge}
		case err != nil:
			return &packed{why: insideDamaged}
		}
	}
	if found.url = inline.URL(inline.Type(kind, role), body); len(found.url) > inline.MaxURL {
		return &packed{why: insideLarge}
	}
	return found
}

// read returns a body that may be within a page.
func (p *packer) read(doc *document, e *entry) (body []byte, why string) {
	src := &source{}
	in, err := doc.parts.Lenient(p.w.segments[e.segment], warc.Stretch{Offset: e.offset, Length: e.length}, src.found)
	if err != nil {
		return nil, insideDamaged
	}
	src.in = in
	rec, err := in.Next()
	if err != nil {
		return nil, insideDamaged
	}
	archived, err := answer.Read(rec, 0)
	if err != nil {
		return nil, insideDamaged
	}
	decoded, err := archived.Body(p.w.options.maxBody())
	if err != nil {
		return nil, insideDamaged
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, decoded, inline.MaxBody+1); err != nil && !errors.Is(err, io.EOF) {
		return nil, insideDamaged
	}
	if b.Len() > inline.MaxBody {
		return nil, insideLarge
	}
	if src.whole() != nil {
		return nil, insideDamaged
	}
	return b.Bytes(), ""
}

// isWithin reports whether an answer is within pages, and no reference leads to a file of it.
func (p *packer) isWithin(e *entry) (holders, bool) {
	if p == nil {
		return holders{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	e = p.owners[e.name]
	h, has := p.pages[e]
	return h, has && !p.files[e]
}

// runSingle writes the files of a mirror whose pages hold what they need. The pages come first: what they do not hold, or
// lead to, has files, and what these lead to.
func (w *writer) runSingle(ctx context.Context) error {
	var pages, parts, redirects []*entry
	for i := range w.plan.entries {
		switch e := &w.plan.entries[i]; {
		case e.state != isFile:
			redirects = append(redirects, e)
		case mediatype.Parse(w.plan.texts.kinds[e.kind]).IsHTML():
			pages = append(pages, e)
		default:
			parts = append(parts, e)
		}
	}
	w.packer = newPacker(w)
	if err := w.each(ctx, slices.Values(pages)); err != nil {
		return err
	}
	for {
		var within, files []*entry
		for _, e := range parts {
			if _, is := w.packer.isWithin(e); is {
				within = append(within, e)
			} else {
				files = append(files, e)
			}
		}
		if len(files) == 0 {
			break
		}
		if err := w.each(ctx, slices.Values(files)); err != nil {
			return err
		}
		parts = within
	}
	return w.each(ctx, slices.Values(append(parts, redirects...)))
}

// within tells of an answer that has no file, for it is within pages: what its script names is listed all the same.
func (w *writer) within(e *entry, h holders, line Entry, doc *document) error {
	w.inside.Add(1)
	if script.Is(mediatype.Parse(line.Type).Name, e.name) && e.flags&owner != 0 {
		if body, why := w.packer.read(doc, e); why == "" {
			u, err := canon.Parse(e.key)
			if err == nil {
				err = w.scripts.Read(body[:min(len(body), script.MaxRead+1)], u, h.first)
			}
			if err != nil {
				return err
			}
		}
	}
	return w.tell(line)
}

// insides returns what a document's references to files become, where that is not their names; nil but for pages that
// hold what they need.
func (w *writer) insides(e *entry, doc *document, missing func(canon.URL, bool)) func(markup.Ref, *entry) (string, bool) {
	switch {
	case w.packer == nil:
		return nil
	case mediatype.Parse(w.plan.texts.kinds[e.kind]).IsHTML():
		return w.packer.page(doc, e.name, missing)
	}
	return func(_ markup.Ref, to *entry) (string, bool) {
		w.packer.asFile(to)
		return "", false
	}
}
