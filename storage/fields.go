package storage

import (
	"net/netip"
	"slices"
	"time"
)

// fields is the schema, in the order of the ledger, which ends in the fields that are withheld. A number is the field's place in the metadata record, which has
// Heritrix's names where it has one.
var fields = []Field{
	field("time", 0, "", instant(func(l *Line) *time.Time { return &l.Time }),
		"time of the decision").always(),
	field("url", 0, "", textOf(func(l *Line) *string { return &l.URL }),
		"the URL of the decision").always(),
	field("kind", 3, "kind", textOf(func(l *Line) *Kind { return &l.Kind }),
		"how the URL was found: seed, link, embed, redirect, sitemap, map, script"),
	field("depth", 2, "depth", numberOf(func(l *Line) *int { return &l.Depth }),
		"number of links from its seed"),
	field("decision", 8, "decision", textOf(func(l *Line) *Decision { return &l.Decision }),
		"the kind of decision").always(),
	field("reason", 9, "reason", textOf(func(l *Line) *string { return &l.Reason }),
		"the reason, one of the listed words"),
	field("own", 15, "ownHost", flag(func(l *Line) *bool { return &l.Own }),
		"true if the host is the operator's own"),
	field("line", 16, "robotsLine", numberOf(func(l *Line) *int { return &l.RobotsLine }),
		"number of the deciding line of robots.txt, from 1"),
	field("rule", 17, "robotsRule", textOf(func(l *Line) *string { return &l.RobotsRule }),
		"the rule in that line, as written"),
	field("group", 18, "robotsGroup", textOf(func(l *Line) *string { return &l.RobotsGroup }),
		"the user-agent line of its group, as written"),
	field("runner_up", 19, "robotsRunnerUp", textOf(func(l *Line) *string { return &l.RunnerUp }),
		"the next best matching rule"),
	field("robots_sha256", 20, "robotsSha256", textOf(func(l *Line) *string { return &l.RobotsSHA256 }),
		"SHA-256 of that robots.txt"),
	field("robots_record", 22, "robotsRecord", textOf(func(l *Line) *string { return &l.RobotsRecord }),
		"ID of its archived record"),
	field("standard", 21, "robotsStandard", textOf(func(l *Line) *string { return &l.Standard }),
		"the robots standard used to parse it"),
	// A pace of 0 that somebody asked for is no missing pace.
	field("pace_ms", 23, "paceMs", duration(func(l *Line) *time.Duration { return &l.Pace }),
		"delay required before the request; present if `pace_by` is").when(func(l *Line) bool { return l.PaceBy != "" }),
	field("pace_by", 24, "paceBy", textOf(func(l *Line) *PaceBy { return &l.PaceBy }),
		"the reason for that delay"),
	field("gap_ms", 25, "gapMs", duration(func(l *Line) *time.Duration { return &l.Gap }),
		"actual delay, from the end of the previous response of the authority to this request"),
	field("attempt", 13, "attempt", numberOf(func(l *Line) *int { return &l.Attempt }),
		"number of this attempt, from 1"),
	field("began", 0, "", instant(func(l *Line) *time.Time { return &l.Began }),
		"time when the first byte of the request was sent"),
	field("took_ms", 6, "fetchTimeMs", duration(func(l *Line) *time.Duration { return &l.Took }),
		"time from the first byte of the request to the last of the response, truncated to microseconds; present if `began` is").when(func(l *Line) bool { return !l.Began.IsZero() }),
	field("first_byte_ms", 7, "firstByteTimeMs", duration(func(l *Line) *time.Duration { return &l.FirstByte }),
		"time from the end of the request to the first byte of the response"),
	field("address", 0, "", endpoint(func(l *Line) *netip.AddrPort { return &l.Addr }),
		"address and port; missing if only the proxy resolves the name"),
	field("proxy", 39, "proxy", textOf(func(l *Line) *string { return &l.Proxy }),
		"the proxy, without user and password; missing without one"),
	field("outcome", 10, "outcome", textOf(func(l *Line) *Outcome { return &l.Outcome }),
		"the result for the URL, or \"deferred\""),
	field("interim", 11, "interimAnswers", numberOf(func(l *Line) *int { return &l.Interim }),
		"number of informational responses (1xx), which are not archived"),
	field("status", 12, "status", numberOf(func(l *Line) *int { return &l.Status }),
		"HTTP status"),
	field("type", 0, "", textOf(func(l *Line) *string { return &l.Type }),
		"media type of the response, the last of several; missing if the server sent none"),
	field("octets", 0, "", numberOf(func(l *Line) *int64 { return &l.Octets }),
		"bytes received, as transferred"),
	field("payload_sha256", 34, "payloadSha256", textOf(func(l *Line) *string { return &l.Payload }),
		"SHA-256 of the payload; in metadata only for a body that was omitted (`noarchive`)"),
	field("truncated", 33, "truncated", textOf(func(l *Line) *string { return &l.Truncated }),
		"why the response is incomplete"),
	field("rest_ms", 27, "restMs", duration(func(l *Line) *time.Duration { return &l.Rest }),
		"back-off that the response causes, from its end, beyond the usual delay"),
	field("rest_by", 28, "restBy", textOf(func(l *Line) *PaceBy { return &l.RestBy }),
		"the reason for that back-off: `retry-after`, `ratelimit`, `errors` or `robots.txt`, as in `pace_by`"),
	field("record", 0, "", textOf(func(l *Line) *string { return &l.Record }),
		"ID of the archived record, without angle brackets"),
	field("blocks_sha256", 0, "", textOf(func(l *Line) *string { return &l.Blocks }),
		"commitment to the archive: SHA-256 of the SHA-256s (32 bytes each) of the blocks of request, response and metadata, in this order"),
	field("heads_sha256", 35, "headsSha256", textOf(func(l *Line) *string { return &l.Heads }),
		"commitment to the heads: SHA-256 of the request's block followed by the head of the response, as archived"),
	field("clock_ahead_ms", 26, "clockAheadMs", duration(func(l *Line) *time.Duration { return &l.Ahead }),
		"how far the clock jumped ahead since the start of the run, for example after sleep; not part of `gap_ms`"),
	field("modified", 36, "lastModified", instant(func(l *Line) *time.Time { return &l.Modified }),
		"last change of the page by `Last-Modified`; missing if later than the response"),
	field("holds_ms", 37, "holdsMs", duration(func(l *Line) *time.Duration { return &l.Holds }),
		"how long the response is fresh by `Cache-Control` or `Expires`, from its arrival"),
	field("change", 14, "change", textOf(func(l *Line) *Change { return &l.Change }),
		"in an update, the change since the previous generation"),
	field("count", 0, "", numberOf(func(l *Line) *int64 { return &l.Count }),
		"number of URLs of the host that this line covers; its URL is an example"),
	field("list_sha256", 32, "listSha256", textOf(func(l *Line) *string { return &l.List }),
		"SHA-256 of the deciding opt-out list; `line` and `rule` are then its line and entry"),
	field("directives", 29, "directives", textOf(func(l *Line) *string { return &l.Directives }),
		"robots directives of the response that were understood: noindex, nofollow, noarchive, unavailable_after: with its date as written"),
	field("asked", 30, "asked", lines(func(l *Line) *string { return &l.Asked }),
		"robots directives as written: \"X-Robots-Tag: VALUE\", \"meta NAME: VALUE\""),
	field("prefs", 31, "prefs", lines(func(l *Line) *string { return &l.Prefs }),
		"usage preferences that apply to the response: \"SOURCE NAME: VALUE\""),
	field("needs_script", 38, "needsScript", flag(func(l *Line) *bool { return &l.NeedsScript }),
		"true if the page is empty without JavaScript"),
	field("via", 1, "via", textOf(func(l *Line) *string { return &l.Via }),
		"the page that led here, or the URL that redirected; for the decision `robots`, the robots.txt for which it was requested, if different").withhold(),
	field("seed", 4, "seed", textOf(func(l *Line) *string { return &l.Seed }),
		"the seed from which it was found").withhold(),
	field("tag", 5, "sourceTag", textOf(func(l *Line) *string { return &l.Tag }),
		"the tag of that seed").withhold(),
}

func field(json string, place int, metadata string, f form, meaning string) Field {
	return Field{JSON: json, Metadata: metadata, Meaning: meaning, place: place, form: f}
}

func (f Field) withhold() Field {
	f.isWithheld = true
	return f
}

func (f Field) always() Field {
	f.isAlways = true
	return f
}

func (f Field) when(said func(*Line) bool) Field {
	f.said = said
	return f
}

// Fields are what a line can say, in the order of the ledger.
func Fields() []Field { return slices.Clone(fields) }

// inMetadata are the fields of a metadata record, in its order.
var inMetadata = func() []*Field {
	order := make([]*Field, len(fields)+1)
	for i := range fields {
		if f := &fields[i]; f.place > 0 {
			order[f.place] = f
		}
	}
	return slices.DeleteFunc(order, func(f *Field) bool { return f == nil })
}()

// InMetadata are the fields that the metadata record of an exchange has, in its order. The slice is not to be changed.
func InMetadata() []*Field { return inMetadata }

var byJSON, byMetadata = func() (json, metadata map[string]*Field) {
	json, metadata = map[string]*Field{}, map[string]*Field{}
	for i := range fields {
		f := &fields[i]
		json[f.JSON] = f
		if f.Metadata != "" {
			metadata[f.Metadata] = f
		}
	}
	return json, metadata
}()

// FieldOfMetadata returns the field that a metadata record calls name, or nil.
func FieldOfMetadata(name string) *Field { return byMetadata[name] }
