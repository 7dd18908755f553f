package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// warcinfo reads what the archive says of its making.
func (rd *Reader) warcinfo(rec *warc.Record, at finding.Place) {
	rd.cur.flush(0)
	in := &Info{Place: at}
	in.Date, _, _ = instant(rec.Fields.Get("WARC-Date"))
	whole := sha256.New()
	rec.Block = io.TeeReader(rec.Block, whole)
	rd.block.begin(rec, false)
	err := warcFields(&rd.block, in.add)
	rd.block.rest()
	in.SHA256 = hex.EncodeToString(whole.Sum(nil))
	rd.digests(rec, at, "")
	if rd.block.src.err != nil {
		return
	}
	if err != nil {
		rd.bad(at, "", "fields of a warcinfo record", err.Error())
	}
	in.read()
	if rd.o.Ours && !in.Ours {
		in.Ours = true
		rd.bad(at, "", "software: "+OurToken+"/…, whose ledger is beside the archive",
			"software: "+finding.Short(in.Software))
	}
	if in.Ours {
		rd.declares(in)
	}
	rd.cur.info = in
	rd.sum.archive(in)
	rd.cur.queue = append(rd.cur.queue, Event{Info: in})
}

// declares checks that a warcinfo record of ours is the only one of its file, and says who asks.
func (rd *Reader) declares(in *Info) {
	if had := rd.cur.info; had != nil && had.Record != "" {
		rd.bad(in.Place, "", "one warcinfo record, at the beginning of its file (archive reference)",
			"another, after "+had.Record)
	}
	for _, f := range [][2]string{{"http-header-user-agent", in.Agent}, {"product-token", in.Token}} {
		if f[1] == "" {
			rd.bad(in.Place, "", "the fields that the archive reference has", "no "+f[0])
		}
	}
}

// MaxInfo bounds the fields that are kept of a warcinfo record: a crawl of ours has three for each of 64 [[host]] tables.
const MaxInfo = 300

// add takes a field.
func (in *Info) add(name, value string) {
	if len(in.Fields) < MaxInfo {
		in.Fields = append(in.Fields, [2]string{finding.Short(name), finding.Short(value)})
	}
}

// read takes what is understood of the fields.
func (in *Info) read() {
	for _, f := range in.Fields {
		ms := millis(f[1])
		switch strings.ToLower(f[0]) {
		case "software":
			in.Software = f[1]
			in.Ours = strings.HasPrefix(f[1], "curtsy/")
		case "operator":
			in.Operator = f[1]
		case "http-header-user-agent":
			in.Agent = f[1]
		case "robots":
			in.Standard = f[1]
		case "product-token":
			in.Token = f[1]
		case "pace-floor-ms":
			in.Floor = ms
		case "host-delay-ms", "host-hours", "host-per-day":
			in.term(strings.ToLower(f[0]), f[1])
		case "window":
			w, ok := window(f[1])
			in.Windows, in.anyWindow = append(in.Windows, w), in.anyWindow || !ok
		case "ip-delay-ms":
			in.IPDelay = ms
		case "max-crawl-delay-ms":
			in.MaxDelay = max(ms, 1)
		case "exchanges-at-once":
			in.AtOnce, _ = strconv.Atoi(f[1]) // what is no number says nothing
		case "run-began":
			in.RunBegan, _, _ = instant(f[1])
		case "own-sites":
			in.OwnSites = f[1]
		case "own-site-failures":
			in.Findings = f[1] == "findings"
		case "proxy":
			in.Proxy = f[1]
		case "credentials":
			in.Credentials = append(in.Credentials, f[1])
		case "config-sha256":
			in.ConfigSHA = f[1]
		case "ledger-key":
			in.LedgerKey = f[1]
		}
	}
}

// maxArchives bounds how many different warcinfo records a result shows.
const maxArchives = 50

// archive keeps a warcinfo that says something else than those before it.
func (s *Summary) archive(in *Info) {
	for _, had := range s.Archives {
		if had.same(in) {
			return
		}
	}
	if len(s.Archives) < maxArchives {
		s.Archives = append(s.Archives, in)
	}
}

// SignsIn reports whether the archive declares credentials for an authority.
func (in *Info) SignsIn(authority string) bool {
	return in != nil && slices.ContainsFunc(in.Credentials, func(said string) bool {
		a, _, _ := strings.Cut(said, ": ")
		return a == authority
	})
}

func (in *Info) same(b *Info) bool {
	return in.Software == b.Software && in.Operator == b.Operator && in.Agent == b.Agent && in.Standard == b.Standard &&
		in.Token == b.Token && in.Floor == b.Floor && in.IPDelay == b.IPDelay && reflect.DeepEqual(in.Terms, b.Terms) && in.OwnSites == b.OwnSites && in.Findings == b.Findings &&
		in.ConfigSHA == b.ConfigSHA && in.Proxy == b.Proxy && slices.Equal(in.Credentials, b.Credentials)
}

// millis reads a setting in milliseconds. One that is none says nothing, and then this crawler's own hold.
func millis(s string) time.Duration {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0
	}
	return time.Duration(min(n, 10*365*24*60*60*1000)) * time.Millisecond
}

// OurToken is the product token that binds every crawl of this crawler (docs/trust/politeness.md, rule 1).
const OurToken = "curtsy"

// HostTerm is what a crawl says that it keeps with some hosts.
type HostTerm struct {
	Hosts string        // a name, "*.example.org" for all below a name, or "*"
	Pause time.Duration // at least
	Hours []Window      // parts of the day in which it asks them; at any time without
	Daily int           // how many requests it sends to each within 24 hours at most; 0 for no limit
}

// term takes a field: "5000 *.example.org". What cannot be read binds nobody.
func (in *Info) term(field, s string) {
	value, hosts, ok := strings.Cut(s, " ")
	t := HostTerm{Hosts: strings.ToLower(hosts)}
	switch field {
	case "host-delay-ms":
		t.Pause = millis(value)
	case "host-per-day":
		t.Daily, _ = strconv.Atoi(value)
	case "host-hours": // "22:00-06:00,12:00-13:00 *.example.org", UTC
		for span := range strings.SplitSeq(value, ",") {
			w, read := window(span + " UTC")
			t.Hours, ok = append(t.Hours, w), ok && read
		}
	}
	if ok {
		in.Terms = append(in.Terms, t)
	}
}

// Delay is the longest pause that the crawl says it keeps with the host of an authority; zero where it says none.
func (in *Info) Delay(authority string) (d time.Duration) {
	for _, t := range in.Terms {
		if t.Pause > d && about(t.Hosts, authority) {
			d = t.Pause
		}
	}
	return d
}

// Hours are the terms of those that bind the host of an authority, and are closed at t; nil when it may be asked.
func (in *Info) Hours(authority string, t time.Time) *HostTerm {
	i := slices.IndexFunc(in.Terms, func(h HostTerm) bool {
		return len(h.Hours) > 0 && about(h.Hosts, authority) && !slices.ContainsFunc(h.Hours, func(w Window) bool { return w.open(t) })
	})
	if i < 0 {
		return nil
	}
	return &in.Terms[i]
}

// Daily is how many requests within 24 hours the crawl says it sends to the host of an authority at most; zero for no limit.
func (in *Info) Daily(authority string) (n int) {
	for _, t := range in.Terms {
		if t.Daily > 0 && (n == 0 || t.Daily < n) && about(t.Hosts, authority) {
			n = t.Daily
		}
	}
	return n
}

const dayMinutes = 24 * 60

// minute reads a time of the day.
func minute(s string) (int, bool) {
	hour, minutes, ok := strings.Cut(s, ":")
	h, err1 := strconv.Atoi(hour)
	m, err2 := strconv.Atoi(minutes)
	return h*60 + m, ok && err1 == nil && err2 == nil && h >= 0 && m >= 0 && m < 60 && h*60+m <= dayMinutes
}

// about reports whether a name, "*.example.org" or "*" is about the host of an authority.
func about(hosts, authority string) bool {
	_, host, _ := strings.Cut(authority, "://")
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	below, wild := strings.CutPrefix(hosts, "*")
	return wild && strings.HasSuffix(host, below) && len(host) > len(below) || host == hosts
}

// Window is a part of the days of a week in which alone a crawl says it asks anybody, by the clock of a place.
type Window struct {
	days     []string // on which it begins, in three letters
	from, to int      // minutes since midnight; to before from goes over midnight
	zone     *time.Location
}

// week are the days as a crawl writes them.
var week = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// window reads one: "Mon-Fri,Sun 22:00-06:00 Europe/Berlin". The days may be missing, which is all of them.
func window(s string) (w Window, ok bool) {
	parts := strings.Split(s, " ")
	if len(parts) == 2 {
		parts = append([]string{"Mon-Sun"}, parts...)
	}
	if len(parts) != 3 || parts[2] == "Local" {
		return w, false
	}
	for _, days := range strings.Split(parts[0], ",") {
		first, last, several := strings.Cut(days, "-")
		i, j := slices.Index(week, first), slices.Index(week, last)
		if !several {
			j = i
		}
		if i < 0 || j < i {
			return w, false
		}
		w.days = append(w.days, week[i:j+1]...)
	}
	from, to, _ := strings.Cut(parts[1], "-")
	var readFrom, readTo bool
	w.from, readFrom = minute(from)
	w.to, readTo = minute(to)
	var err error
	w.zone, err = time.LoadLocation(parts[2])
	return w, readFrom && readTo && err == nil
}

// open reports whether the clock shows a time within w.
func (w Window) open(t time.Time) bool {
	t = t.In(w.zone)
	on := func(t time.Time) bool { return slices.Contains(w.days, t.Weekday().String()[:3]) }
	at := t.Hour()*60 + t.Minute()
	if w.to > w.from {
		return on(t) && w.from <= at && at < w.to
	}
	yesterday := t.Weekday() - 1
	if yesterday < 0 {
		yesterday = time.Saturday
	}
	return on(t) && at >= w.from || at < w.to && slices.Contains(w.days, yesterday.String()[:3])
}

// Outside reports whether the crawl says that it asks nobody at t. One window that cannot be read may be open at any time.
func (in *Info) Outside(t time.Time) bool {
	if len(in.Windows) == 0 || in.anyWindow {
		return false
	}
	return !slices.ContainsFunc(in.Windows, func(w Window) bool { return w.open(t) })
}
