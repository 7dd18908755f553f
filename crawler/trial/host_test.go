package trial

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

type web struct {
	seed  uint64
	hosts int
	calm  bool // no host is slow or rests for long: for real time
	local bool // some hosts are on loopback

	fixed func(h *trialHost, target string, n int) *answer // to request n for a target; nil for a random answer
}

type trialHost struct {
	w     *web
	n     int
	name  string // with its port, if it is another than 80
	pages int
	rules string // the kind of its robots.txt
	slow  time.Duration
	after bool // its server logs the end of an exchange, as nginx does, not the beginning
}

var rulesKinds = []string{"rules", "rules", "rules", "rules", "none", "none", "odd", "moved", "moved", "elsewhere", "late", "busy", "closed", "coded", "long", "short", "cut", "status"}

func (w *web) host(n int) *trialHost {
	d := throw(w.seed, "host", strconv.Itoa(n))
	h := &trialHost{w: w, n: n, name: fmt.Sprintf("h%d.test", n), pages: 1 + d.IntN(40), rules: rulesKinds[d.IntN(len(rulesKinds))], after: d.in(2)}
	if w.local && throw(w.seed, "local", strconv.Itoa(n)).in(3) {
		h.name = localNet + strconv.Itoa(n+1)
	}
	if d.in(6) {
		h.name += ":8080"
	}
	h.slow = time.Duration(1+d.IntN(120)) * time.Millisecond
	if d.in(8) && !w.calm {
		h.slow = time.Duration(d.IntN(4000)) * time.Millisecond
	}
	return h
}

const localNet = "127.0.0."

func (w *web) named(name string) *trialHost {
	name, _, _ = strings.Cut(name, ":")
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "h"), ".test"))
	if last, ok := strings.CutPrefix(name, localNet); ok {
		n, err = strconv.Atoi(last)
		n--
	}
	if err != nil || n < 0 || n >= w.hosts {
		return nil
	}
	h := w.host(n)
	if strings.TrimSuffix(h.name, ":8080") != name { // such as that of a link to http://+1/
		return nil
	}
	return h
}

func (w *web) addr(n int) netip.Addr {
	if d := throw(w.seed, "address", strconv.Itoa(n)); d.in(6) {
		n = d.IntN(max(n, 1))
	}
	return netip.AddrFrom4([4]byte{20, byte(n >> 16), byte(n >> 8), byte(n)})
}

func (h *trialHost) page(k int) string {
	if k == 0 {
		return "/"
	}
	d := throw(h.w.seed, "page", h.name, strconv.Itoa(k))
	if d.in(3) {
		return "/p" + strconv.Itoa(k)
	}
	return d.target()
}

func (h *trialHost) link(d dice, to *trialHost, k int) string {
	target := to.page(k)
	host := to.name
	switch {
	case to.n == h.n && d.in(2):
		return target
	case d.in(10):
		host = strings.ToUpper(host)
	case d.in(10) && !strings.Contains(host, ":"):
		host += d.one(":80", ".", ":", ":080")
	case d.in(20):
		host = "user:pw%@" + host
	}
	return d.one("http://", "http://", "http://", "HTTP:\\\\", "//", "http:/\t/") + host + target
}
