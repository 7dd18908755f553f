package trap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/bits"
	"slices"
	"strings"

	"curtsy/frontier/canon"
)

// History is the state of a host. The zero value is an unknown host. It is not safe for concurrent use.
type History struct {
	paths, templates []entry
	windows          []window // the one that had a page last comes first
	shapes           []uint16 // distinct; the latest comes first
	parents          []parent // the one that came last is the last
}

type parent struct {
	print uint32 // of its URL and text
	copy  uint8  // how many pages before it, one found on the other, had the same text
}

const (
	maxShapes  = 448
	maxParents = 160
)

// Held returns the rule that holds an untried URL, or "".
func (h *History) Held(u canon.URL, l Limits) string {
	queries, template := groupsOf(u)
	switch {
	case queries != 0 && h.over(h.queryTable(), queries, l.queries()):
		return RuleQueries
	case h.over(h.templateTable(), template, l.template()):
		return RuleTemplate
	}
	return ""
}

// over reports whether a group has reached its limit and shows little new.
func (h *History) over(t table, g group, limit int) bool {
	if limit <= 0 || t.count(g) < limit {
		return false
	}
	i := h.window(g)
	return i >= 0 && h.windows[i].barren(limit)
}

// Turn counts a URL in its first turn, requested or held.
func (h *History) Turn(u canon.URL) {
	queries, template := groupsOf(u)
	if queries != 0 {
		t := h.queryTable()
		t.add(queries)
		h.paths = t.entries
	}
	t := h.templateTable()
	t.add(template)
	h.templates = t.entries
}

// Watches reports whether the shape of u counts.
func (h *History) Watches(u canon.URL, l Limits) bool {
	queries, template := groupsOf(u)
	return queries != 0 && near(h.queryTable(), queries, l.queries()) || near(h.templateTable(), template, l.template())
}

// Brought adds the shape of a page, if it is watched.
func (h *History) Brought(u canon.URL, shape uint64, l Limits) {
	queries, template := groupsOf(u)
	byPath := queries != 0 && near(h.queryTable(), queries, l.queries())
	byTemplate := near(h.templateTable(), template, l.template())
	if !byPath && !byTemplate {
		return
	}
	fresh := h.fresh(shape)
	if byTemplate {
		h.enter(template, fresh)
	}
	if byPath {
		h.enter(queries, fresh)
	}
}

// near reports whether to watch a group: the first window learns the shapes, the second one shows which are new. A
// group of one is not watched, or every page of a site without numbers in its URLs would take a window.
func near(t table, g group, limit int) bool {
	return limit > 0 && t.count(g) >= max(2, limit-2*span)
}

// fresh reports whether a shape is new, and adds it.
func (h *History) fresh(shape uint64) bool {
	print := uint16(shape ^ shape>>16 ^ shape>>32 ^ shape>>48)
	i := slices.Index(h.shapes, print)
	fresh := i < 0
	if fresh {
		if i = len(h.shapes); i < maxShapes {
			h.shapes = append(h.shapes, print)
		} else {
			i--
		}
	}
	copy(h.shapes[1:i+1], h.shapes[:i])
	h.shapes[0] = print
	return fresh
}

// enter adds a page to the window of its group, and moves that to the front.
func (h *History) enter(g group, fresh bool) {
	i := h.window(g)
	w := window{group: g}
	if i >= 0 {
		w = h.windows[i]
	} else if i = len(h.windows); i < maxWindows {
		h.windows = append(h.windows, w)
	} else {
		i--
	}
	copy(h.windows[1:i+1], h.windows[:i])
	w.add(fresh)
	h.windows[0] = w
}

func (h *History) window(g group) int {
	return slices.IndexFunc(h.windows, func(w window) bool { return w.group == g })
}

func (h *History) queryTable() table    { return table{maxPaths, h.paths} }
func (h *History) templateTable() table { return table{maxTemplates, h.templates} }

// Copies counts the pages in a row with this text up to the one at via; 0 for a new or zero text.
func (h *History) Copies(via string, text uint64) int {
	if text == 0 || via == "" {
		return 0
	}
	p := printOf(via, text)
	for _, one := range slices.Backward(h.parents) {
		if one.print == p {
			return int(one.copy) + 1
		}
	}
	return 0
}

// Leads records a page with links; copies is the result of Copies.
func (h *History) Leads(u canon.URL, text uint64, copies int) {
	if text == 0 {
		return
	}
	one := parent{printOf(u.String(), text), uint8(min(copies, maxCopy))}
	if len(h.parents) >= maxParents {
		h.parents = slices.Delete(h.parents, 0, len(h.parents)-maxParents+1)
	}
	h.parents = append(h.parents, one)
}

// Drops reports whether the links after so many copies are dropped.
func (l Limits) Drops(copies int) bool { return l.copy() > 0 && copies >= l.copy() }

// Copies reports whether the rule of copies is on.
func (l Limits) Copies() bool { return l.copy() > 0 }

func printOf(url string, text uint64) uint32 {
	h := fnv.New64a()
	h.Write([]byte(url))
	sum := h.Sum64() ^ text*0x9e3779b97f4a7c15
	sum ^= sum >> 29
	sum *= 0xbf58476d1ce4e5b9
	return uint32(sum >> 32)
}

// table counts many groups with few counters (Misra and Gries): a group without a counter takes one from each other. A count is never
// too large.
type table struct {
	most    int // counters
	entries []entry
}

type entry struct {
	group group
	n     uint32
}

// The counters of each table.
const (
	maxPaths     = 64
	maxTemplates = 48
)

func (t *table) count(g group) int {
	for _, e := range t.entries {
		if e.group == g {
			return int(e.n)
		}
	}
	return 0
}

func (t *table) add(g group) {
	for i := range t.entries {
		if e := &t.entries[i]; e.group == g {
			e.n = min(e.n+1, MaxLimit)
			return
		}
	}
	if len(t.entries) < t.most {
		t.entries = append(t.entries, entry{g, 1})
		return
	}
	kept := t.entries[:0]
	for _, e := range t.entries {
		if e.n--; e.n > 0 {
			kept = append(kept, e)
		}
	}
	t.entries = kept
}

const (
	span       = 200 // pages that are looked at
	maxWindows = 16  // groups whose pages are looked at at one time
)

// window records which of the last pages of a group were new.
type window struct {
	group group
	n     int                 // pages, at most span
	fresh [span/64 + 1]uint64 // a bit a page, the last one lowest
}

// add enters a page.
func (w *window) add(fresh bool) {
	for i := len(w.fresh) - 1; i > 0; i-- {
		w.fresh[i] = w.fresh[i]<<1 | w.fresh[i-1]>>63
	}
	w.fresh[0] <<= 1
	if fresh {
		w.fresh[0] |= 1
	}
	w.fresh[len(w.fresh)-1] &= 1<<(span%64) - 1
	w.n = min(w.n+1, span)
}

// barren reports whether there were enough pages, and less than 5 % of them new.
func (w *window) barren(limit int) bool {
	look := min(limit, span)
	if w.n < look {
		return false
	}
	fresh := 0
	for i, b := range w.fresh {
		if left := look - 64*i; left < 64 {
			b &= 1<<max(left, 0) - 1
		}
		fresh += bits.OnesCount64(b)
	}
	return 20*fresh < look
}

// MaxSize bounds the bytes of a History.
const MaxSize = 3 << 10

const version = 1

var errDamaged = errors.New("trap: the history of a host is damaged")

// Append encodes h after b: a version; both tables, windows, shapes, parents, each after its length. A zero h is empty.
func (h *History) Append(b []byte) []byte {
	if len(h.paths)+len(h.templates)+len(h.windows)+len(h.shapes)+len(h.parents) == 0 {
		return b
	}
	b = append(slices.Grow(b, 64+8*(len(h.paths)+len(h.templates)+len(h.parents))+32*len(h.windows)+2*len(h.shapes)),
		version)
	for _, entries := range [][]entry{h.paths, h.templates} {
		b = binary.AppendUvarint(b, uint64(len(entries)))
		for _, e := range entries {
			b = binary.BigEndian.AppendUint32(b, uint32(e.group))
			b = binary.AppendUvarint(b, uint64(e.n))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(h.windows)))
	for _, w := range h.windows {
		b = binary.BigEndian.AppendUint32(b, uint32(w.group))
		b = append(b, byte(w.n))
		for i := range span / 8 {
			b = append(b, byte(w.fresh[i/8]>>(i%8*8)))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(h.shapes)))
	for _, s := range h.shapes {
		b = binary.BigEndian.AppendUint16(b, s)
	}
	b = binary.AppendUvarint(b, uint64(len(h.parents)))
	for _, p := range h.parents {
		b = append(binary.BigEndian.AppendUint32(b, p.print), p.copy)
	}
	return b
}

// Read decodes the result of Append; empty input is the zero History.
func Read(b []byte) (History, error) {
	if len(b) == 0 {
		return History{}, nil
	}
	r := reader{b: b}
	var h History
	if r.octet() != version {
		return h, errDamaged
	}
	h.paths = r.entries(maxPaths)
	h.templates = r.entries(maxTemplates)
	h.windows = list(&r, maxWindows, func() window {
		w := window{group: group(r.uint32()), n: int(r.octet())}
		for i := range span / 8 {
			w.fresh[i/8] |= uint64(r.octet()) << (i % 8 * 8)
		}
		r.bad = r.bad || w.n > span
		return w
	})
	h.shapes = list(&r, maxShapes, func() uint16 { return uint16(r.octet())<<8 | uint16(r.octet()) })
	h.parents = list(&r, maxParents, func() parent { return parent{r.uint32(), r.octet()} })
	if r.bad || len(r.b) > 0 {
		return History{}, errDamaged
	}
	return h, nil
}

// reader reads numbers from b until one is missing.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) octet() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *reader) uint32() uint32 {
	if len(r.b) < 4 {
		r.bad, r.b = true, nil
		return 0
	}
	v := binary.BigEndian.Uint32(r.b)
	r.b = r.b[4:]
	return v
}

func (r *reader) uvarint(most uint64) uint64 {
	v, w := binary.Uvarint(r.b)
	if w <= 0 || v > most {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[w:]
	return v
}

func (r *reader) entries(most int) []entry {
	return list(r, most, func() entry {
		e := entry{group: group(r.uint32()), n: uint32(r.uvarint(MaxLimit))}
		r.bad = r.bad || e.n == 0
		return e
	})
}

// list reads a list of at most so many, with room for one more.
func list[E any](r *reader, most int, one func() E) []E {
	n := int(r.uvarint(uint64(most)))
	if n == 0 {
		return nil
	}
	es := make([]E, 0, n+1)
	for range n {
		es = append(es, one())
	}
	return es
}

// The names of the rules, as in ledger, status and commands.
const (
	RuleQueries  = "trap:queries"
	RuleTemplate = "trap:template"
	RuleCopy     = "trap:copy"
)

// Limits are the limits of the rules. Zero means the default, a negative number off.
type Limits struct {
	Queries  int // distinct queries of one path; zero means 1,000
	Template int // URLs of one template; zero means 10,000
	Copy     int // copies in a row until the links of one are dropped; zero means 1
}

// MaxLimit is the largest limit: no count is larger.
const MaxLimit = 2_000_000

// maxCopy is the largest Limits.Copy.
const maxCopy = 200

// Names returns the names of the rules without "trap:", in order.
func Names() []string { return []string{"copy", "queries", "template"} }

// Set sets the limit of a rule, with or without "trap:"; 0 switches it off. known is false for an unknown rule.
func (l *Limits) Set(name string, n int) (known bool) {
	if n <= 0 {
		n = -1
	}
	switch strings.TrimPrefix(name, "trap:") {
	case "queries":
		l.Queries = n
	case "template":
		l.Template = n
	case "copy":
		l.Copy = n
	default:
		return false
	}
	return true
}

func (l Limits) Check() error {
	for _, r := range []struct {
		name    string
		n, most int
	}{{"queries", l.Queries, MaxLimit}, {"template", l.Template, MaxLimit}, {"copy", l.Copy, maxCopy}} {
		if r.n > r.most {
			return fmt.Errorf("trap: %s=%d is more than can be counted, %d; switch the rule off instead", r.name, r.n, r.most)
		}
	}
	return nil
}

func orDefault(n, zero int) int {
	if n == 0 {
		return zero
	}
	return n
}

func (l Limits) queries() int  { return orDefault(l.Queries, 1000) }
func (l Limits) template() int { return orDefault(l.Template, 10_000) }
func (l Limits) copy() int     { return orDefault(l.Copy, 1) }

// idLength is the minimum length of a session id.
const idLength = 16

// Template returns s with runs of digits and session ids replaced by "#".
func Template(s string) string {
	if !strings.ContainsAny(s, "0123456789") {
		return s
	}
	return string(appendTemplate(make([]byte, 0, len(s)), s))
}

func appendTemplate(b []byte, s string) []byte {
	for s != "" {
		end, digits := run(s)
		switch {
		case end == 0:
			b, s = append(b, s[0]), s[1:]
			continue
		case digits && end >= idLength:
			b = append(b, '#')
		default:
			b = appendNumbers(b, s[:end])
		}
		s = s[end:]
	}
	return b
}

func appendNumbers(b []byte, word string) []byte {
	for i := 0; i < len(word); i++ {
		if !digit(word[i]) {
			b = append(b, word[i])
		} else if i == 0 || !digit(word[i-1]) {
			b = append(b, '#')
		}
	}
	return b
}

// run returns the length of leading ASCII letters and digits, and whether there is a digit.
func run(s string) (end int, digits bool) {
	for end < len(s) && (digit(s[end]) || letter(s[end])) {
		digits = digits || digit(s[end])
		end++
	}
	return end, digits
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// maxIDs bounds the session ids of a URL that are searched in a page, which may have a million words.
const maxIDs = 16

func ids(s string) []string {
	var all []string
	for s != "" && len(all) < maxIDs {
		end, digits := run(s)
		if digits && end >= idLength {
			all = append(all, s[:end])
		}
		s = s[max(end, 1):]
	}
	return all
}

// group is the queries of a path, or the URLs of a template; zero means neither.
type group uint32

// groupsOf returns the groups of a URL; queries is zero without a query.
func groupsOf(u canon.URL) (queries, template group) {
	root := len(u.String()) - len(u.RequestURI()) // key and fetch URL differ only behind it
	key := u.Key()[root:]
	if path, _, ok := strings.Cut(key, "?"); ok {
		queries = groupOf("queries ", path)
	}
	return queries, groupOf("template ", Template(key))
}

func groupOf(rule, text string) group {
	h := fnv.New64a()
	h.Write([]byte(rule))
	h.Write([]byte(text))
	sum := h.Sum64()
	return group(sum>>32^sum) | 1
}
