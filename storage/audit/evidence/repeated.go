package evidence

import (
	"slices"
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// onceOnly are the fields that WARC 1.1 defines. Of these WARC-Concurrent-To alone may stand more than once (5.7).
var onceOnly = []string{
	"warc-record-id", "content-length", "warc-date", "warc-type", "content-type", "warc-block-digest",
	"warc-payload-digest", "warc-ip-address",
	"warc-refers-to", "warc-refers-to-target-uri", "warc-refers-to-date", "warc-target-uri", "warc-truncated",
	"warc-warcinfo-id",
	"warc-filename", "warc-profile", "warc-identified-payload-type", "warc-segment-number", "warc-segment-origin-id",
	"warc-segment-total-length",
}

// repeated names fields that stand more than once in a record's head: readers differ in which they take. Extensions may
// have rules of their own, as WARC-Protocol has; in archives of ours nothing else is repeated.
func (rd *Reader) repeated(rec *warc.Record, at finding.Place) {
	for i, f := range rec.Fields {
		name := strings.ToLower(f.Name)
		if name == "warc-concurrent-to" || name == "warc-protocol" || !rd.ours() && !slices.Contains(onceOnly, name) {
			continue
		}
		first := slices.IndexFunc(rec.Fields, func(g warc.Field) bool { return strings.EqualFold(g.Name, f.Name) })
		if first == i {
			continue
		}
		said := finding.Finding{Code: finding.BadRecord, Authority: AuthorityOf(rec.TargetURI()),
			URL: rec.TargetURI(), Place: at,
			Required: "each named field but WARC-Concurrent-To once in a record (WARC 1.1, 4 and 5.7)",
			Observed: finding.Short(f.Name) + " " + strconv.Quote(finding.Short(rec.Fields[first].Value)) + ", and " +
				strconv.Quote(finding.Short(f.Value))}
		said.Note = !rd.ours() && rec.Fields[first].Value == f.Value // which misleads nobody
		rd.found(said)
		return
	}
}
