package simulation

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"curtsy/frontier/canon"
)

const (
	tick  = 20 * time.Millisecond
	floor = time.Second // politeness rule 9
)

// Why a host never answers.
const (
	alive = iota
	noName
	noRoute
	refusesConnections
)

// What a host's robots.txt is like.
const (
	plainRules = iota
	ownRules   // a file that no other host has
	noRules    // 404
	movedRules // redirected within the host
	elseRules  // redirected to another host
	lateRules  // 5xx for the first exchanges
	busyRules  // 503 with Retry-After for the first exchange
)

// world is what arithmetic says of a web.
type world struct {
	hosts []host
	roots int     // hosts that are seeds; their pages introduce all others
	slots int     // pages of the roots that introduce a host
	order []int32 // the other hosts, in the order in which they are introduced
	at    []float64
	calm  bool // no faults, every latency is latency
	span  time.Duration
}

// host is what is given of a host, and the referee's notes on it.
type host struct {
	pages   int32
	first   int64         // place of its pages among those of all hosts
	latency time.Duration // the usual one
	delay   time.Duration // Crawl-delay
	dead    uint8
	rules   uint8
	throttl uint16 // chance of a page to be answered by 429 or 503, in 65536

	seenHost
}

// hash mixes two numbers (the finaliser of SplitMix64, Steele et al. 2014).
func hash(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b*0xd1342543de82ef95 + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit makes a number between 0 and 1 of a hash.
func unit(h uint64) float64 { return (float64(h>>11) + 0.5) / (1 << 53) }

// normal makes a normally distributed number of a hash (Box and Muller 1958).
func normal(h uint64) float64 {
	return math.Sqrt(-2*math.Log(unit(h))) * math.Cos(2*math.Pi*unit(hash(h, 1)))
}

// ticks is a latency of ms milliseconds in whole ticks, at least one.
func ticks(ms float64) time.Duration {
	d := time.Duration(ms * float64(time.Millisecond))
	return max((d+tick/2)/tick*tick, tick)
}

// zipf makes a web of n hosts with pages in all, by Zipf's law: the host of rank r has a share of 1/r, but no more pages
// than its pace lets anyone have within span.
func zipf(n, pages int, span time.Duration) *world {
	w := &world{hosts: make([]host, n), span: span}
	for i := range w.hosts {
		w.hosts[i] = character(uint64(i))
	}
	usual := w.hosts[0].usual()
	w.roots = max(1, min(16, int(float64(pages)/10/(span.Seconds()/usual.Seconds()))))
	for i := range w.roots {
		w.hosts[i] = host{latency: 100 * time.Millisecond}
	}
	low, high := 0.0, float64(pages)
	for range 60 {
		if c := (low + high) / 2; w.share(c) < pages {
			low = c
		} else {
			high = c
		}
	}
	w.share(high)
	w.introduce()
	return w
}

// even makes a web of n hosts with the same number of pages and one latency, all of them seeds, without a fault.
func even(n, pages int, latency time.Duration) *world {
	w := &world{hosts: make([]host, n), calm: true, roots: n}
	for i := range w.hosts {
		w.hosts[i] = host{pages: int32(pages), first: int64(i * pages), latency: latency}
	}
	return w
}

// character is what a host is like.
func character(i uint64) host {
	h := host{latency: ticks(min(max(150*math.Exp(0.7*normal(hash(i, 2))), 20), 3000))}
	switch p := hash(i, 3) % 1000; {
	case p < 250:
		h.rules = noRules
	case p < 270:
		h.rules = movedRules
	case p < 273:
		h.rules = elseRules
	case p < 300:
		h.rules = lateRules
	case p < 320:
		h.rules = busyRules
	case p < 420:
		h.rules = ownRules
	}
	if h.rules != noRules {
		switch p := hash(i, 4) % 100; {
		case p < 4:
			h.delay = 2 * time.Second
		case p < 6:
			h.delay = 5 * time.Second
		case p < 7:
			h.delay = 1500 * time.Millisecond
		}
	}
	switch p := hash(i, 5) % 1000; {
	case p < 10:
		h.dead = noName
	case p < 15:
		h.dead = noRoute
	case p < 20:
		h.dead = refusesConnections
	}
	return h
}

// usual is the time from the start of one exchange to the start of the next when all is well.
func (h *host) usual() time.Duration { return max(floor, h.delay, 5*h.latency) + h.latency }

// share gives the host of rank r c/r pages, within bounds, and returns how many that are.
func (w *world) share(c float64) int {
	sum := 0
	for i := range w.hosts {
		h := &w.hosts[i]
		most := 0.75 * w.span.Seconds() / h.usual().Seconds()
		n := math.Ceil(c / float64(i+1))
		if i < w.roots {
			n = 0.95 / 0.75 * most
		}
		h.pages, h.first = int32(max(1, min(n, 1.3*most))), int64(sum)
		if i >= w.roots {
			h.pages = int32(max(1, min(n, most)))
		}
		h.throttl = uint16(min(0.004, 1.5/float64(h.pages)) * 65536)
		sum += int(h.pages)
	}
	return sum
}

// introduce spreads the hosts over the span so that each has time for its pages. They are introduced by the pages of
// the roots, which take up the whole of it.
func (w *world) introduce() {
	w.slots = w.roots * int(w.hosts[0].pages)
	n := len(w.hosts) - w.roots
	at := make([]float64, len(w.hosts))
	w.order, w.at = make([]int32, n), make([]float64, n)
	for i := range w.order {
		k := i + w.roots
		h := &w.hosts[k]
		room := 0.97 - 1.3*float64(h.pages)*h.usual().Seconds()/w.span.Seconds()
		at[k] = max(room, 0) * unit(hash(uint64(k), 6))
		w.order[i] = int32(k)
	}
	slices.SortFunc(w.order, func(a, b int32) int { return int(math.Copysign(1, at[a]-at[b])) })
	for i, k := range w.order {
		w.at[i] = at[k]
	}
}

// introduced are the hosts that a page of a root links to.
func (w *world) introduced(root, page int) []int32 {
	if root >= w.roots || w.order == nil {
		return nil
	}
	slot := page*w.roots + root
	from := sort.SearchFloat64s(w.at, float64(slot)/float64(w.slots))
	to := sort.SearchFloat64s(w.at, float64(slot+1)/float64(w.slots))
	return w.order[from:to]
}

// What a page is like.
const (
	ordinary = iota
	missing  // 404
	moved    // redirects to its other address
	private  // robots.txt forbids it
)

// kind is what a page is like: only pages that link to no other are anything but ordinary, so that all can be found.
func (w *world) kind(id, page int) int {
	h := &w.hosts[id]
	if w.calm || id < w.roots || page == 0 || 2*page+1 < int(h.pages) {
		return ordinary
	}
	switch p := hash(uint64(id)<<32|uint64(page), 7) % 100; {
	case p < 3:
		return missing
	case p < 5:
		return moved
	case p < 7 && h.rules != noRules:
		return private
	}
	return ordinary
}

func nameOf(id int) string { return "http://h" + strconv.Itoa(id) + ".test" }

// path is where a page is.
func (w *world) path(id, page int) string {
	if w.kind(id, page) == private {
		return "/private/" + strconv.Itoa(page)
	}
	return "/p/" + strconv.Itoa(page)
}

// What a request asks for.
const (
	forRobots = iota
	forRobotsOf
	forPage
	forMoved
	forPrivate
)

// address is what a URL asks for.
type address struct {
	id   int // of the host
	what int
	n    int // page, or the host that the rules are for
}

var places = map[string]int{"p": forPage, "m": forMoved, "private": forPrivate, "rules": forRobotsOf}

func parse(u canon.URL) (address, error) {
	id, err := hostID(u.Host())
	if err != nil {
		return address{}, err
	}
	if u.Path() == "/robots.txt" {
		return address{id, forRobots, id}, nil
	}
	dir, last, _ := strings.Cut(u.Path()[1:], "/")
	n, err := strconv.Atoi(last)
	what, ok := places[dir]
	if err != nil || !ok {
		return address{}, fmt.Errorf("simulation: %s is no page of this world", u)
	}
	return address{id, what, n}, nil
}

// hostID is the number of a host.
func hostID(host string) (int, error) {
	name, ok := strings.CutSuffix(host, ".test")
	id, err := strconv.Atoi(strings.TrimPrefix(name, "h"))
	if !ok || err != nil {
		return 0, fmt.Errorf("simulation: %s is not a host of this world", host)
	}
	return id, nil
}

// links are the pages of its own host that an ordinary page links to: its two children in a tree, and the first child of
// the page behind it, so that most pages are linked twice.
func (w *world) links(id, page int) []int {
	n := int(w.hosts[id].pages)
	var out []int
	for k := 2*page + 1; k <= 2*page+3 && k < n; k++ {
		out = append(out, k)
	}
	return out
}

// elsewhere is the host whose first page a page links to, now and then; it may be one not introduced yet.
func (w *world) elsewhere(id, page int) (int, bool) {
	h := hash(uint64(id)<<32|uint64(page), 8)
	if w.calm || id < w.roots || h%8 != 0 {
		return 0, false
	}
	return int(hash(h, 9) % uint64(id+1)), true
}
