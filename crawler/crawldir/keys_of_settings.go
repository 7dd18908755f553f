package crawldir

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"curtsy/crawler/host"
)

// key is one key of a file of settings, and where its value is: in the first of these that is not nil.
type key struct {
	name   string
	text   *string
	flag   *bool
	list   *[]string
	commas bool // elements of the list have none: one text may hold several
	other  interface {
		String() string
		Set(string) error
		Type() string
	}
}

// keys are all settings, in the order of the file.
func (s *Settings) keys() []key {
	text := func(name string, p *string) key { return key{name: name, text: p} }
	flag := func(name string, p *bool) key { return key{name: name, flag: p} }
	list := func(name string, p *[]string) key { return key{name: name, list: p} }
	words := func(name string, p *[]string) key { return key{name: name, list: p, commas: true} }
	number := func(name string, p *int64, least int64) key { return key{name: name, other: AtLeast(p, least)} }
	size := func(name string, p *int64) key { return key{name: name, other: (*Size)(p)} }
	return []key{
		text("agent", &s.Agent), text("contact", &s.Contact), text("operator", &s.Operator), text("purpose", &s.Purpose),
		text("signature-agent", &s.SignatureAgent), {name: "signature-draft", other: (*Draft)(&s.SignatureDraft)},
		{name: "signature-life", other: (*Duration)(&s.SignatureLife)},
		text("scope", &s.Scope), list("include", &s.Include), list("exclude", &s.Exclude), words("accept", &s.Accept),
		words("reject", &s.Reject), text("page-requisites", &s.Requisites), words("follow", &s.Follow),
		text("external", &s.External), {name: "external-age", other: (*Duration)(&s.ExternalAge)}, number("depth", &s.Depth, Unlimited),
		text("sample", &s.Sample), text("sample-key", &s.SampleKey), flag("sample-seeds", &s.SampleSeeds),
		list("sitemaps", &s.Sitemaps), list("trap", &s.Traps),
		{name: "delay", other: (*Duration)(&s.Delay)}, {name: "ip-delay", other: (*Duration)(&s.IPDelay)},
		{name: "max-crawl-delay", other: (*Duration)(&s.MaxCrawlDelay)}, words("own-site", &s.OwnSite),
		number("per-host", &s.PerHost, 1), {name: "robots-standard", other: (*Standard)(&s.Standard)},
		list("opt-out", &s.OptOut), flag("keep-noarchive", &s.KeepNoArchive), words("follow-rel", &s.FollowRel),
		number("max-pages", &s.MaxPages, 0), number("max-per-host", &s.MaxPerHost, 0),
		number("max-per-domain", &s.MaxPerDomain, 0), number("max-per-tag", &s.MaxPerTag, 0),
		number("per-host-per-day", &s.PerHostPerDay, 0), list("stop-when", &s.StopWhen), size("max-bytes", &s.MaxBytes),
		{name: "max-time", other: (*Duration)(&s.MaxTime)}, size("max-rate", &s.MaxRate), size("min-rate", &s.MinRate),
		size("max-body", &s.MaxBody), {name: "max-wait", other: (*Duration)(&s.MaxWait)},
		list("window", &s.Window),
		{name: "order", other: (*Order)(&s.Order)}, size("max-db-size", &s.MaxDBSize), number("max-urls", &s.MaxURLs, 0),
		number("max-urls-per-host", &s.MaxURLsPerHost, 0), number("max-urls-per-domain", &s.MaxURLsPerDomain, 0),
		number("workers", &s.Workers, 1), list("allow-net", &s.AllowNet), text("ca-file", &s.CAFile),
		text("bind", &s.Network.Bind), flag("ipv4", &s.Network.IPv4), flag("ipv6", &s.Network.IPv6),
		text("proxy", &s.Network.Proxy), list("auth", &s.Network.Auth), list("header", &s.Network.Header),
		text("accept-language", &s.AcceptLanguage), flag("accept-zstd", &s.AcceptZstd), list("dedup", &s.Dedup),
		size("memory-limit", &s.MemoryLimit), flag("mirror", &s.Mirror),
		{name: "layout", other: (*Layout)(&s.Layout)}, number("cut-dirs", &s.Cut, 0),
		{name: "vanished", other: (*Vanished)(&s.Vanished)}, flag("previews", &s.Previews),
		{name: "min-interval", other: (*Duration)(&s.MinInterval)}, {name: "max-interval", other: (*Duration)(&s.MaxInterval)},
		{name: "fresh", other: (*Share)(&s.Fresh)}, {name: "round-interval", other: (*Duration)(&s.Gather)},
	}
}

// Renamed maps what settings were called before to their names.
var Renamed = map[string]string{
	"cut": "cut-dirs", "gather": "round-interval", "least-speed": "min-rate", "offer-zstd": "accept-zstd", "requisites": "page-requisites",
}

// Names are the names of all settings, in the order of their files.
func Names() (names []string) {
	for _, k := range new(Settings).keys() {
		names = append(names, k.name)
	}
	return names
}

// Text is a number, or a list with an element a line, as files write it, and whether there is such a setting.
func (s *Settings) Text(name string) (string, bool) {
	k, ok := s.key(name)
	switch {
	case ok && k.list != nil:
		return strings.Join(*k.list, "\n"), true
	case !ok || k.other == nil:
		return "", false
	}
	return k.other.String(), true
}

// IsList reports whether a setting takes any number of values.
func IsList(name string) bool {
	k, ok := new(Settings).key(name)
	return ok && k.list != nil
}

func (s *Settings) key(name string) (key, bool) {
	for _, k := range s.keys() {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

// Set gives a setting values as files and the environment write them: one, or any number for a list, which they replace.
func (s *Settings) Set(name string, values ...string) error {
	k, ok := s.key(name)
	if !ok {
		return fmt.Errorf("no setting %q", name)
	}
	return k.set(values)
}

func (k key) set(values []string) error {
	if k.list != nil {
		if k.commas {
			values = strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' })
		}
		*k.list = append([]string{}, values...)
		return nil
	}
	if len(values) != 1 {
		return errors.New("one value is expected, not a list")
	}
	v := values[0]
	switch {
	case k.text != nil:
		*k.text = v
	case k.flag != nil:
		b, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("%q: write true or false", v)
		}
		*k.flag = b
	default:
		return k.other.Set(v)
	}
	return nil
}

// TOML writes the settings as a file that ReadFile reads.
func (s *Settings) TOML() ([]byte, error) {
	var b bytes.Buffer
	for _, k := range s.keys() {
		line, err := toml.Marshal(map[string]any{k.name: k.value()})
		if err != nil {
			return nil, fmt.Errorf("configuration: %s: %w", k.name, err)
		}
		b.Write(line)
	}
	for _, t := range s.HostTables() {
		b.WriteString("\n[[" + HostTable + "]]\n")
		for _, name := range HostNames() {
			if _, ok := t[name]; !ok {
				continue
			}
			line, err := toml.Marshal(map[string]any{name: t[name]})
			if err != nil {
				return nil, fmt.Errorf("configuration: [[%s]]: %s: %w", HostTable, name, err)
			}
			b.Write(line)
		}
	}
	return b.Bytes(), nil
}

// HostTable is the name of the tables with what holds for some hosts alone.
const HostTable = "host"

// keysOfRule are the keys of such a table. They are named like the settings that they are stricter than.
func keysOfRule(r *host.Rule) []key {
	return []key{
		{name: "match", text: &r.Match}, {name: "delay", other: (*Duration)(&r.Delay)},
		{name: "max-per-host", other: AtLeast(&r.MaxPerHost, 0)}, {name: "per-host-per-day", other: AtLeast(&r.PerHostPerDay, 0)},
		{name: "include", list: &r.Include}, {name: "exclude", list: &r.Exclude}, {name: "hours", list: &r.Hours},
	}
}

// HostNames are the keys of a table for some hosts.
func HostNames() (names []string) {
	for _, k := range keysOfRule(new(host.Rule)) {
		names = append(names, k.name)
	}
	return names
}

// HostTables are the tables for some hosts, each key with its value as TOML has it.
func (s *Settings) HostTables() (all []map[string]any) {
	for i := range s.Hosts {
		t := map[string]any{}
		for _, k := range keysOfRule(&s.Hosts[i]) {
			if !k.isZero() {
				t[k.name] = k.value()
			}
		}
		all = append(all, t)
	}
	return all
}

// isZero reports whether a key of a table for some hosts says nothing.
func (k key) isZero() bool {
	switch {
	case k.text != nil:
		return *k.text == ""
	case k.list != nil:
		return len(*k.list) == 0
	}
	return k.other.String() == "0"
}

// value is what TOML takes for the value of a setting.
func (k key) value() any {
	switch {
	case k.text != nil:
		return *k.text
	case k.flag != nil:
		return *k.flag
	case k.list != nil:
		return append([]string{}, *k.list...)
	}
	text := k.other.String()
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && k.other.Type() == "int" {
		return n
	}
	return text
}
