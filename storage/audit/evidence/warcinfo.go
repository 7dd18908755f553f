package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
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
		case "host-delay-ms":
			if d, ok := hostDelay(f[1]); ok {
				in.Delays = append(in.Delays, d)
			}
		case "host-hours":
			if h, ok := hostHours(f[1]); ok {
				in.HostHours = append(in.HostHours, h)
			}
		case "window":
			w, ok := window(f[1])
			in.Windows, in.anyWindow = append(in.Windows, w), in.anyWindow || !ok
		case "host-per-day":
			if d, ok := hostDaily(f[1]); ok {
				in.HostDaily = append(in.HostDaily, d)
			}
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
		in.Token == b.Token && in.Floor == b.Floor && in.IPDelay == b.IPDelay && slices.Equal(in.Delays, b.Delays) && in.OwnSites == b.OwnSites && in.Findings == b.Findings &&
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
