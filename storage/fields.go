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
		"when it was decided").always(),
	field("url", 0, "", textOf(func(l *Line) *string { return &l.URL }),
		"the URL decided on").always(),
	field("kind", 3, "kind", textOf(func(l *Line) *Kind { return &l.Kind }),
		"how it was found: seed, link, embed, redirect, sitemap, map, script; decisions.md has the words"),
	field("depth", 2, "depth", numberOf(func(l *Line) *int { return &l.Depth }),
		"links between it and its seed"),
	field("decision", 8, "decision", textOf(func(l *Line) *Decision { return &l.Decision }),
		"which part of the story decided").always(),
	field("reason", 9, "reason", textOf(func(l *Line) *string { return &l.Reason }),
		"why, in that part's words"),
	field("own", 15, "ownHost", flag(func(l *Line) *bool { return &l.Own }),
		"the host is the operator's own"),
	field("line", 16, "robotsLine", numberOf(func(l *Line) *int { return &l.RobotsLine }),
		"line of robots.txt that decided, from 1"),
	field("rule", 17, "robotsRule", textOf(func(l *Line) *string { return &l.RobotsRule }),
		"that line's rule, as written"),
	field("group", 18, "robotsGroup", textOf(func(l *Line) *string { return &l.RobotsGroup }),
		"the user-agent line of its group, as written"),
	field("runner_up", 19, "robotsRunnerUp", textOf(func(l *Line) *string { return &l.RunnerUp }),
		"the next best rule that matches"),
	field("robots_sha256", 20, "robotsSha256", textOf(func(l *Line) *string { return &l.RobotsSHA256 }),
		"digest of that robots.txt"),
	field("robots_record", 22, "robotsRecord", textOf(func(l *Line) *string { return &l.RobotsRecord }),
		"the archived record it came from"),
	field("standard", 21, "robotsStandard", textOf(func(l *Line) *string { return &l.Standard }),
		"the robots standard it was read by"),
	// A pace of 0 that somebody asked for is no missing pace.
	field("pace_ms", 23, "paceMs", duration(func(l *Line) *time.Duration { return &l.Pace }),
		"the pause that was due before the exchange; there whenever `pace_by` is").when(func(l *Line) bool { return l.PaceBy != "" }),
	field("pace_by", 24, "paceBy", textOf(func(l *Line) *PaceBy { return &l.PaceBy }),
		"who asked for it"),
	field("gap_ms", 25, "gapMs", duration(func(l *Line) *time.Duration { return &l.Gap }),
		"from the end of the previous exchange with the authority to the start of this one"),
	field("attempt", 13, "attempt", numberOf(func(l *Line) *int { return &l.Attempt }),
		"1 for the first exchange with the URL"),
	field("began", 0, "", instant(func(l *Line) *time.Time { return &l.Began }),
		"when the first octet of the request was sent"),
	field("took_ms", 6, "fetchTimeMs", duration(func(l *Line) *time.Duration { return &l.Took }),
		"from the first octet of the request to the last of the answer, cut to microseconds; there whenever `began` is").when(func(l *Line) bool { return !l.Began.IsZero() }),
	field("first_byte_ms", 7, "firstByteTimeMs", duration(func(l *Line) *time.Duration { return &l.FirstByte }),
		"from the request sent to the first octet of the answer"),
	field("address", 0, "", endpoint(func(l *Line) *netip.AddrPort { return &l.Addr }),
		"address and port dialled; missing where a proxy alone knows it"),
	field("proxy", 39, "proxy", textOf(func(l *Line) *string { return &l.Proxy }),
		"the proxy that the exchange went through, without user and password; missing without one"),
	field("outcome", 10, "outcome", textOf(func(l *Line) *Outcome { return &l.Outcome }),
		"what became of the URL, or \"deferred\""),
	field("interim", 11, "interimAnswers", numberOf(func(l *Line) *int { return &l.Interim }),
		"answers that came before the final one and only announced it (1xx); they are not archived"),
	field("status", 12, "status", numberOf(func(l *Line) *int { return &l.Status }),
		"HTTP status"),
	field("type", 0, "", textOf(func(l *Line) *string { return &l.Type }),
		"the answer's media type, as browsers read it: of several the last one counts; missing where the server named none"),
	field("octets", 0, "", numberOf(func(l *Line) *int64 { return &l.Octets }),
		"received, as they crossed the connection"),
	field("payload_sha256", 34, "payloadSha256", textOf(func(l *Line) *string { return &l.Payload }),
		"digest of the payload; a metadata record has it only of a body that was received and left out (`noarchive`)"),
	field("truncated", 33, "truncated", textOf(func(l *Line) *string { return &l.Truncated }),
		"why the answer ends early"),
	field("rest_ms", 27, "restMs", duration(func(l *Line) *time.Duration { return &l.Rest }),
		"how long, from the end of this exchange, its answer makes us leave the host alone beyond the pace"),
	field("rest_by", 28, "restBy", textOf(func(l *Line) *PaceBy { return &l.RestBy }),
		"who asked for that: `retry-after`, `ratelimit`, `errors` or `robots.txt`, as in `pace_by`"),
	field("record", 0, "", textOf(func(l *Line) *string { return &l.Record }),
		"id of the archived record, without angle brackets"),
	field("blocks_sha256", 0, "", textOf(func(l *Line) *string { return &l.Blocks }),
		"binds what is archived: the SHA-256 of the SHA-256s (32 octets each) of the blocks of request, answer and metadata, in that order"),
	field("heads_sha256", 35, "headsSha256", textOf(func(l *Line) *string { return &l.Heads }),
		"binds what can be shown without bodies: the SHA-256 of the request's block followed by the head of the answer, both as archived"),
	field("clock_ahead_ms", 26, "clockAheadMs", duration(func(l *Line) *time.Duration { return &l.Ahead }),
		"by how much the clock had jumped ahead since the run began, as after the computer slept; `gap_ms` does not count that"),
	field("modified", 36, "lastModified", instant(func(l *Line) *time.Time { return &l.Modified }),
		"when the page changed last, by its own word (`Last-Modified`); missing where that lies after the answer"),
	field("holds_ms", 37, "holdsMs", duration(func(l *Line) *time.Duration { return &l.Holds }),
		"for how long the answer holds, by its server's word (`Cache-Control`, `Expires`), from when it came"),
	field("change", 14, "change", textOf(func(l *Line) *Change { return &l.Change }),
		"in an update, what became of the URL since the generation before; decisions.md has the words"),
	field("count", 0, "", numberOf(func(l *Line) *int64 { return &l.Count }),
		"the line stands for so many URLs of the host; its URL is a sample"),
	field("list_sha256", 32, "listSha256", textOf(func(l *Line) *string { return &l.List }),
		"digest of the opt-out list that decided; `line` and `rule` are then its line and entry"),
	field("directives", 29, "directives", textOf(func(l *Line) *string { return &l.Directives }),
		"what the answer asks of robots and was understood: noindex, nofollow, noarchive, unavailable_after: and its date as written"),
	field("asked", 30, "asked", lines(func(l *Line) *string { return &l.Asked }),
		"what it asks of robots as it was written: \"X-Robots-Tag: VALUE\", \"meta NAME: VALUE\""),
	field("prefs", 31, "prefs", lines(func(l *Line) *string { return &l.Prefs }),
		"usage preferences that hold for the answer: \"SOURCE NAME: VALUE\""),
	field("needs_script", 38, "needsScript", flag(func(l *Line) *bool { return &l.NeedsScript }),
		"the page is empty without JavaScript, which the crawler does not run"),
	field("via", 1, "via", textOf(func(l *Line) *string { return &l.Via }),
		"the page that led here, or the URL that redirected; of a request with the decision `robots`, the robots.txt of the host that it is made for, if that is another URL").withhold(),
	field("seed", 4, "seed", textOf(func(l *Line) *string { return &l.Seed }),
		"the seed it descends from").withhold(),
	field("tag", 5, "sourceTag", textOf(func(l *Line) *string { return &l.Tag }),
		"that seed's tag").withhold(),
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
