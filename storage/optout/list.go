package optout

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"curtsy/frontier/canon"
)

// Entry is a line of a list.
type Entry struct {
	Line   int // from 1
	Text   string
	Reason string // or empty
}

// List is an immutable version of a list.
type List struct {
	name    string
	digest  [32]byte
	entries []Entry

	hosts    map[string][]place // by host name
	suffixes map[string]int     // by the domain; index in entries
	paths    map[string][]place // by host name or address
	nets     map[netip.Prefix]int
	bits     [2][]int // the prefix lengths in nets, of IPv4 and IPv6
}

type place struct {
	scheme, port string // empty: any
	prefix       string // of path and query, in the form of keys; empty: all
	whole        bool   // prefix is the whole path and query
	at           int    // index in entries
}

// Name returns the name given to Parse.
func (l *List) Name() string { return l.name }

// Digest returns the SHA-256 of the list's bytes.
func (l *List) Digest() [32]byte { return l.digest }

// Entries returns the entries in order. The caller must not change the slice.
func (l *List) Entries() []Entry { return l.entries }

// URL returns an entry that covers u.
func (l *List) URL(u canon.URL) (e Entry, ok bool) {
	l.Under(u, netip.Addr{}, func(at int) bool {
		e, ok = l.entries[at], true
		return false
	})
	return e, ok
}

// Under calls yield with the index of each entry that covers u or addr, an address to be dialled for it, until yield
// returns false. Of several entries of one domain or network it uses the first.
func (l *List) Under(u canon.URL, addr netip.Addr, yield func(at int) bool) {
	a := u.Authority()
	host := a.Host()
	for _, p := range l.hosts[host] {
		if p.covers(a) && !yield(p.at) {
			return
		}
	}
	literal, _ := a.Addr()
	for _, addr := range [...]netip.Addr{literal, addr} {
		if !l.networks(addr, yield) {
			return
		}
	}
	for domain, more := host, len(l.suffixes) > 0; more; _, domain, more = strings.Cut(domain, ".") {
		if at, ok := l.suffixes[domain]; ok && !yield(at) {
			return
		}
	}
	places := l.paths[host]
	if len(places) == 0 {
		return
	}
	target := keyTarget(u)
	for _, p := range places {
		if p.covers(a) && strings.HasPrefix(target, p.prefix) && (!p.whole || target == p.prefix) && !yield(p.at) {
			return
		}
	}
}

// Addr returns the entry of the narrowest network that covers an address.
func (l *List) Addr(addr netip.Addr) (e Entry, ok bool) {
	l.networks(addr, func(at int) bool {
		e, ok = l.entries[at], true
		return false
	})
	return e, ok
}

// networks calls yield with the index of each entry whose network has the address, the narrowest first. It returns false
// once yield does.
func (l *List) networks(addr netip.Addr, yield func(at int) bool) bool {
	addr = addr.WithZone("").Unmap()
	for _, n := range l.bits[family(addr)] {
		p, err := addr.Prefix(n)
		if err != nil {
			continue // a zero address
		}
		if at, ok := l.nets[p]; ok && !yield(at) {
			return false
		}
	}
	return true
}

// covers compares scheme and port; the caller has compared the host.
func (p place) covers(a canon.Authority) bool {
	return (p.scheme == "" || p.scheme == a.Scheme()) && (p.port == "" || p.port == a.Port())
}

func (l *List) addNet(p netip.Prefix, at int) {
	if _, ok := l.nets[p]; ok {
		return
	}
	l.nets[p] = at
	bits := &l.bits[family(p.Addr())]
	if !slices.Contains(*bits, p.Bits()) {
		*bits = append(*bits, p.Bits())
		slices.SortFunc(*bits, func(a, b int) int { return b - a })
	}
}

func family(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

func keyTarget(u canon.URL) string {
	return u.Key()[len(u.String())-len(u.RequestURI()):] // key and fetch URL have the same beginning
}

const (
	maxMistakes = 10       // mistakes of a list that are reported
	maxLine     = 16 << 10 // bytes of a line
	maxExcerpt  = 80       // bytes of a line that are quoted
)

// Parse parses a list. Its error reports bad lines, up to ten, with name.
func Parse(name string, b []byte) (*List, error) {
	l := newList(name, b)
	var mistakes []error
	number := 0
	text := strings.TrimPrefix(string(b), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.TrimSuffix(line, "\r")
		if err := l.line(line, number); err != nil {
			if len(mistakes) == maxMistakes {
				mistakes = append(mistakes, errors.New("… and more"))
				break
			}
			mistakes = append(mistakes, fmt.Errorf("%s:%d: %q: %w", name, number, excerpt(line), err))
		}
	}
	if len(mistakes) > 0 {
		return nil, fmt.Errorf("optout: %w", errors.Join(mistakes...))
	}
	return l, nil
}

func newList(name string, b []byte) *List {
	return &List{
		name: name, digest: sha256.Sum256(b),
		hosts: map[string][]place{}, suffixes: map[string]int{}, paths: map[string][]place{}, nets: map[netip.Prefix]int{},
	}
}

// Add adds an entry without reason. The zero List is empty.
func (l *List) Add(text string) error {
	if strings.ContainsAny(text, "\t\n#") {
		return fmt.Errorf("optout: %q is not an entry: give the reason separately", text)
	}
	if l.hosts == nil {
		*l = *newList("", nil)
	}
	n := len(l.entries)
	if err := l.line(text, n+1); err != nil {
		l.entries = l.entries[:n]
		return fmt.Errorf("optout: %q: %w", excerpt(text), err)
	}
	if len(l.entries) == n {
		return fmt.Errorf("optout: %q is not an entry: write a host, .domain, address, network, or host/path", text)
	}
	return nil
}

func (l *List) line(line string, number int) error {
	switch {
	case len(line) > maxLine:
		return fmt.Errorf("longer than %d bytes", maxLine)
	case !utf8.ValidString(line):
		return errors.New("not UTF-8")
	case strings.ContainsFunc(line, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
		return errors.New("holds a control character")
	}
	line = strings.Trim(line, " \t")
	if line == "" || line[0] == '#' {
		return nil
	}
	text, reason := line, ""
	if i := strings.IndexAny(line, "\t#"); i >= 0 {
		text, reason = strings.TrimRight(line[:i], " "), strings.Trim(line[i+1:], " \t#")
	}
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return errors.New("one entry on a line; a reason comes after a tab or #")
	}
	l.entries = append(l.entries, Entry{Line: number, Text: text, Reason: reason})
	return l.enter(text, len(l.entries)-1)
}

func (l *List) enter(text string, at int) error {
	site, path := text, ""
	scheme, rest, schemed := strings.Cut(text, "://")
	if schemed {
		site = rest
	}
	slashed := false
	if i := strings.IndexByte(site, '/'); i >= 0 {
		site, path, slashed = site[:i], site[i:], true
	}
	switch {
	case schemed && !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		return errors.New("only http and https are crawled")
	case site == "":
		return errors.New("no host: write a host, .domain, address, network, or host/path")
	case strings.ContainsAny(site, `?@\%`):
		return errors.New("write a host, .domain, address, network, or host/path")
	case strings.HasPrefix(site, "*."):
		return fmt.Errorf("write %s for the domain and everything below it", site[1:])
	case strings.Contains(path, "*") && !strings.HasSuffix(path, "$"):
		return fmt.Errorf("a path covers everything that starts with it, and * would be taken literally; write %s",
			text[:strings.IndexByte(text, '*')])
	case site[0] == '.':
		if schemed || slashed {
			return errors.New("a domain with everything below it takes no scheme and no path")
		}
		return l.enterSuffix(site[1:], at)
	case !schemed && (!slashed || len(path) > 1 && strings.Trim(path[1:], "0123456789") == ""):
		if done, err := l.enterNet(text, site, slashed, at); done {
			return err
		}
	}
	return l.enterPlace(strings.ToLower(scheme), site, path, schemed, at)
}

func (l *List) enterSuffix(domain string, at int) error {
	a, err := canon.ParseAuthority("http://" + domain)
	if err != nil {
		return cause(err)
	}
	if _, literal := a.Addr(); literal || strings.Contains(domain, ":") {
		return errors.New("a domain is expected after the dot")
	}
	if err := mayBeMet(a); err != nil {
		return err
	}
	if _, ok := l.suffixes[a.Host()]; !ok {
		l.suffixes[a.Host()] = at
	}
	return nil
}

// enterNet enters an address or network. done is false if the entry is neither.
func (l *List) enterNet(text, site string, slashed bool, at int) (done bool, err error) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(site, "["), "]"))
	switch {
	case err != nil:
		return false, nil // a name, or an address with a port
	case !slashed:
		addr = addr.Unmap()
		l.addNet(netip.PrefixFrom(addr, addr.BitLen()), at)
		return true, nil
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return true, errors.New("not a network: write it like 192.0.2.0/24 or 2001:db8::/32")
	case p != p.Masked():
		return true, fmt.Errorf("the network of that length is %s", p.Masked())
	case p.Addr().Is4In6():
		return true, errors.New("write a network of IPv4 addresses as such")
	}
	l.addNet(p, at)
	return true, nil
}

func (l *List) enterPlace(scheme, site, path string, schemed bool, at int) error {
	p := place{at: at}
	path, p.whole = strings.CutSuffix(path, "$")
	if !schemed {
		scheme = "http"
	}
	u, err := canon.Parse(scheme + "://" + site + path)
	if err != nil {
		return cause(err)
	}
	a := u.Authority()
	if err := mayBeMet(a); err != nil {
		return err
	}
	if _, port, ok := strings.Cut(site[strings.LastIndexByte(site, ']')+1:], ":"); ok && port != "" {
		p.port = a.Port()
	}
	if schemed {
		p.scheme, p.port = a.Scheme(), a.Port()
	}
	switch target := keyTarget(u); {
	case target != "/" || p.whole:
		p.prefix = target
		l.paths[a.Host()] = append(l.paths[a.Host()], p)
	case p.port == "" && p.scheme == "":
		if addr, ok := a.Addr(); ok { // another spelling of an address, which also covers connections
			addr = addr.Unmap()
			l.addNet(netip.PrefixFrom(addr, addr.BitLen()), at)
		}
		fallthrough
	default:
		l.hosts[a.Host()] = append(l.hosts[a.Host()], p)
	}
	return nil
}

// mayBeMet refuses hosts that no URL can have: the author means something else.
func mayBeMet(a canon.Authority) error {
	if addr, ok := a.Addr(); ok {
		if b := addr.Unmap().As16(); addr.Unmap().Is4() && b[12] == 0 && addr.Unmap() != netip.IPv4Unspecified() {
			return fmt.Errorf("that is the address %s, which nobody has; write a network like 10.0.0.0/8, or a name", addr)
		}
		return nil
	}
	host := strings.TrimSuffix(a.Host(), ".")
	if strings.Contains(host, "*") {
		return errors.New("* is taken literally, and no host has it; write .example.org for a domain and everything below it, or a network like 192.0.2.0/24")
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" { // RFC 1123 2.1, and underscores
		return errors.New("no host has such a name: it has letters, digits and hyphens")
	}
	return nil
}

// cause returns the error of a host without the URL made for its parser.
func cause(err error) error {
	reason := canon.ReasonOf(err)
	var e *canon.Error
	if errors.As(err, &e) && e.Cause != nil {
		return fmt.Errorf("%s: %w", reason, e.Cause)
	}
	return errors.New(string(reason))
}

func excerpt(s string) string {
	if len(s) > maxExcerpt {
		return s[:maxExcerpt] + "…"
	}
	return s
}
