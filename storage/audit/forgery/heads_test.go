package forgery

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/storage/warc"
)

// unseen are the changes of heads that nothing but the mark of their file gives away, by kind of record and field, with
// the reason.
var unseen = map[string]string{
	"request WARC-Protocol":       "nothing else tells it, and no rule depends on it",
	"request alone WARC-Protocol": "the same",
	"response WARC-Protocol":      "the same",
	"revisit WARC-Protocol":       "the same",
	"refusals WARC-Record-ID":     "no other record names it",
	"refusals WARC-Date":          "no more is known than that it was written behind the decisions in it",
	"warcinfo WARC-Date":          "no more is known than that the file was begun in its run",
	"warcinfo WARC-Filename":      "a file may be copied under another name",
}

// nearly is a value like another, of the same length.
func nearly(value string) string {
	b := []byte(value)
	for i := len(b) - 1; i >= 0; i-- {
		switch c := b[i]; {
		case c >= '0' && c < '9', c >= 'a' && c < 'f':
			b[i] = c + 1
			return string(b)
		case c == '9', c >= 'f' && c <= 'z':
			b[i] = c - 1
			return string(b)
		}
	}
	return value + "x"
}

// No field of a record's head can be changed, taken away, said twice or added where the ledger is left as it is, nor where
// its marks are made to fit.
func TestEachFieldOfEachHeadIsHeld(t *testing.T) {
	every := 4
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		every = 1
	case testing.Short():
		every = 30
	}
	dir := t.TempDir()
	crawl(t, dir)
	honest := readEvidence(t, dir)
	met := map[string]int{}
	for i, r := range honest.records {
		kind := kindOf(honest, i)
		if met[kind]++; met[kind] > 1 {
			continue
		}
		for j, f := range append(slices.Clone(r.fields), warc.Field{Name: "WARC-Truncated"}, warc.Field{Name: "X-More"}, warc.Field{Name: "WARC-IP-Address"}) {
			if (i+j)%every > 0 {
				continue
			}
			for how, forge := range map[string]func(r *record){
				"changed": func(r *record) { r.set(f.Name, nearly(f.Value)) },
				"gone":    func(r *record) { r.del(f.Name) },
				"twice":   func(r *record) { r.again(f.Name, nearly(f.Value)) },
			} {
				held := unseen[kind+" "+f.Name] == "" || f.Name != "WARC-Protocol" && how != "changed"
				if f.Value == "" && (how != "twice" || r.get(f.Name) != "") || f.Name == "Content-Length" {
					continue
				}
				e := readEvidence(t, dir)
				x := e.records[i]
				x.kept = strings.HasSuffix(f.Name, "-Digest")
				if forge(x); held { // not by the mark alone
					e.resign()
				}
				assert.Falsef(t, directory(e.write()).judge(t).Clean, "%s: %s is %s, and nothing is found", kind, f.Name, how)
			}
		}
	}
	for _, kind := range []string{"warcinfo", "request", "response", "revisit", "metadata", "refusals", "request alone", "metadata of a request"} {
		assert.NotEqualf(t, 0, met[kind], "no %s", kind)
	}
}

// kindOf is the type of a record, told apart by what it is of.
func kindOf(e *evidence, i int) string {
	r := e.records[i]
	kind := r.get("WARC-Type")
	switch {
	case kind == "metadata" && r.get("WARC-Target-URI") == "":
		return "refusals"
	case kind == "request" && e.answerOf(r) == nil:
		return "request alone"
	case kind == "metadata" && i > 0 && e.records[i-1].is("request"):
		return "metadata of a request"
	}
	return kind
}

// No two records can change places.
func TestNoTwoRecordsChangePlaces(t *testing.T) {
	dir := t.TempDir()
	crawl(t, dir)
	honest := readEvidence(t, dir)
	every := 9
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		every = 1
	case testing.Short():
		every = 40
	}
	for i := 0; i < len(honest.records); i += every {
		for _, by := range []int{1, 2, 3, 6} {
			if i+by >= len(honest.records) {
				continue
			}
			e := readEvidence(t, dir)
			e.records[i], e.records[i+by] = e.records[i+by], e.records[i]
			e.resign() // or the mark of the file would give it away
			if res := directory(e.write()).judge(t); res.Clean {
				t.Errorf("records %d, a %s, and %d, a %s, have changed places, and nothing is found", i, kindOf(honest, i), i+by, kindOf(honest, i+by))
			}
		}
	}
}
