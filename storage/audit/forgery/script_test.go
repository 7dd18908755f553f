package forgery

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/redact"
)

//go:embed testdata/forgeries.txt
var forgeries string

type row struct {
	class, name string
	// found is the code of a violation that the audit must name. Empty: no audit could find it, and why has the reason.
	found finding.Code
	why   string
	// with is the evidence required for that: without it nothing is found.
	with  helper
	edits [][]string
}

func rows(t *testing.T) (all []row) {
	t.Helper()
	for line := range strings.Lines(forgeries) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " | ", 4)
		require.GreaterOrEqualf(t, len(part), 4, "%q has no four columns", line)
		r := row{class: part[0], name: part[1], edits: words(t, part[3])}
		var unfound bool
		if r.why, unfound = strings.CutPrefix(part[2], "not found: "); !unfound {
			code, with, _ := strings.Cut(part[2], ", with ")
			r.found, r.with, r.why = finding.Code(code), helper(with), ""
		}
		all = append(all, r)
	}
	return all
}

var constants = strings.NewReplacer("$other", strings.Repeat("ab", 32), "$nobody", "urn:uuid:00000000-0000-4000-8000-000000000000",
	"$ua", identity.UserAgent(), "$contact", contact, "$key", otherKey.VerifierKey(), "$loaf", loaf,
	"$optouts", fmt.Sprintf("%x", sha256.Sum256([]byte("bakery.test\n"))), "$tile", strings.Repeat("h", 256*32), "$hash", strings.Repeat("h", 32))

func words(t *testing.T, s string) (all [][]string) {
	t.Helper()
	var edit []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimLeft(s, " ") {
		var word string
		switch s[0] {
		case ';':
			all, edit, s = append(all, edit), nil, s[1:]
			continue
		case '"', '`':
			q, err := strconv.QuotedPrefix(s)
			require.NoError(t, err, s)
			word, _ = strconv.Unquote(q)
			s = s[len(q):]
		default:
			n := len(s)
			if i := strings.IndexAny(s, " ;"); i >= 0 {
				n = i
			}
			word, s = s[:n], s[n:]
		}
		edit = append(edit, constants.Replace(word))
	}
	return append(all, edit)
}

func urlOf(name string) string {
	if url := map[string]string{"bread": bread, "cakes": cakes, "plums": plums, "bakery": bakery, "station": "http://station.test/robots.txt", "secret": secret,
		"timetable": timetable, "platforms": platforms, "slow": "http://station.test/slow", "tour": "http://bakery.test/kitchen/tour", "pier": "http://harbour.test/pier"}[name]; url != "" {
		return url
	}
	return "http://" + name
}

// exchange returns the exchange that a name, a URL without its scheme or "revisit" means. "#0" is the first with a URL, not the last.
func (e *evidence) exchange(name string) exchange {
	e.t.Helper()
	var x exchange
	switch base, first := strings.CutSuffix(name, "#0"); {
	case name == "revisit":
		x = e.revisit()
	case e.alien:
		x.ask, x.answer = otherArchive{e}.pair(urlOf(name))
	case first:
		x = e.exchanges(urlOf(base))[0]
	default:
		x = e.of(urlOf(name))
	}
	if !slices.Contains(e.touched, x) {
		e.touched = append(e.touched, x)
	}
	return x
}

// find returns the records that a name means: warcinfo, refusals, an exchange, one part of it, or one of all (*).
func (e *evidence) find(name string) (all []*record) {
	e.t.Helper()
	switch name {
	case "warcinfo":
		return e.kind(name)[:1]
	case "refusals":
		return []*record{e.refusals()}
	}
	name, part, _ := strings.Cut(name, ":")
	var xs []exchange
	if name == "*" {
		xs = e.exchanges("")
	} else {
		xs = []exchange{e.exchange(name)}
	}
	for _, x := range xs {
		for of, r := range map[string]*record{"ask": x.ask, "answer": x.answer, "metadata": x.metadata} {
			if r != nil && (part == "" || part == of) {
				all = append(all, r)
			}
		}
	}
	return all
}

// at returns the index of the line of a mark, a refusal or an exchange. "run#1" is the second mark of a run.
func (e *evidence) at(name string) int {
	e.t.Helper()
	name, nth, _ := strings.Cut(name, "#")
	part := map[string]string{"begin": `"mark":"begin"`, "run": `"mark":"run"`, "stop": `"mark":"stop"`, "file": `"name":"` + segment,
		"disallow": `"decision":"disallow"`, "refuse": `"decision":"refuse"`}[name]
	if part == "" {
		return e.lineOf(e.exchange(name))
	}
	i := e.line(part)
	for n, _ := strconv.Atoi(nth); n > 0; n-- {
		i += 1 + slices.IndexFunc(e.book[i+1:], func(l string) bool { return strings.Contains(l, part) })
	}
	return i
}

func jsonOf(value string) string {
	if _, err := strconv.Atoi(value); err == nil {
		return value
	}
	return strconv.Quote(value)
}

// file gives a file of the crawl directory or of the package another content. "*" at the end is a wildcard.
func (e *evidence) file(name string, change func(was string) string) {
	e.t.Helper()
	files := e.files
	if of, ok := strings.CutPrefix(name, "ledger/"); e.pack != nil {
		files = e.pack.files
	} else if ok {
		files, name = e.beside, of
	}
	prefix, all := strings.CutSuffix(name, "*")
	if !all {
		was, there := files[name]
		if files[name] = change(was); !there && e.pack != nil {
			e.pack.names = append(e.pack.names, name)
		}
		return
	}
	for n, was := range files {
		if strings.HasPrefix(n, prefix) {
			files[n] = change(was)
		}
	}
}

func (r row) forge(e *evidence) {
	e.t.Helper()
	for _, w := range r.edits {
		do := edits[w[0]]
		if do == nil {
			e.t.Fatalf("%q is not an edit", w)
		}
		do(e, append(w[1:], "", "", "", "")) // missing words are empty
	}
}

var edits map[string]func(e *evidence, w []string)

func recordEdit(edit func(e *evidence, r *record, w []string)) func(*evidence, []string) {
	return func(e *evidence, w []string) {
		for _, r := range e.find(w[0]) {
			edit(e, r, w[1:])
		}
	}
}

func showing(edit func(e *evidence, tr *trial, w []string)) func(*evidence, []string) {
	return func(e *evidence, w []string) {
		e.show = append(e.show, func(tr *trial) { edit(e, tr, w) })
	}
}

func (e *evidence) matched(pattern, text, by string) string {
	re := regexp.MustCompile(pattern)
	if !re.MatchString(text) {
		e.t.Fatalf("nothing matches %s", pattern)
	}
	return re.ReplaceAllString(text, by)
}

func init() {
	edits = map[string]func(e *evidence, w []string){
		// of records
		"sub": recordEdit(func(e *evidence, r *record, w []string) { r.replace(e.t, w[0], w[1]) }),
		"resub": recordEdit(func(e *evidence, r *record, w []string) {
			r.block = e.matched(w[0], r.block, w[1])
		}),
		"add":  recordEdit(func(_ *evidence, r *record, w []string) { r.block += w[0] }),
		"keep": recordEdit(func(_ *evidence, r *record, _ []string) { r.kept = true }), // its digests
		"set":  recordEdit(func(_ *evidence, r *record, w []string) { r.set(w[0], w[1]) }),
		"del":  recordEdit(func(_ *evidence, r *record, w []string) { r.del(w[0]) }),
		"copy": recordEdit(func(e *evidence, r *record, w []string) { r.set(w[0], e.find(w[1])[0].get(w[2])) }),
		"again": recordEdit(func(_ *evidence, r *record, w []string) {
			value := w[1]
			if value == "=" {
				value = r.get(w[0])
			}
			r.again(w[0], value)
		}),
		"body":   recordEdit(func(_ *evidence, r *record, w []string) { r.body(w[0]) }),
		"status": recordEdit(func(_ *evidence, r *record, w []string) { r.status(w[0]) }),
		"drop":   func(e *evidence, w []string) { e.drop(e.find(w[0])...) },
		"swap": func(e *evidence, w []string) {
			i, j := slices.Index(e.records, e.find(w[0])[0]), slices.Index(e.records, e.find(w[1])[0])
			e.records[i], e.records[j] = e.records[j], e.records[i]
		},
		"trade": func(e *evidence, w []string) {
			x, y := e.find(w[0])[0], e.find(w[1])[0]
			x.block, y.block = y.block, x.block
		},
		"shift":       func(e *evidence, w []string) { e.exchange(w[0]).shift(e.t, span(e.t, w[1])) },
		"setMetadata": func(e *evidence, w []string) { e.exchange(w[0]).metadata.field(e.t, w[1], w[2]) },

		// of lines
		"value": func(e *evidence, w []string) { e.value(e.at(w[0]), w[1], jsonOf(w[2])) },
		"edit":  func(e *evidence, w []string) { e.edit(e.at(w[0]), w[1], w[2]) },
		"cut":   func(e *evidence, w []string) { e.cut(e.at(w[0])) },
		"cutAll": func(e *evidence, w []string) {
			e.book = slices.DeleteFunc(e.book, func(l string) bool {
				return strings.Contains(l, `"decision":"`+w[0]+`"`) || strings.Contains(l, `"decision":"`+w[1]+`"`)
			})
		},
		"repeat": func(e *evidence, w []string) {
			i := e.at(w[0])
			e.book = slices.Insert(e.book, i, e.book[i])
		},
		"insert": func(e *evidence, w []string) { e.insert(w[0], 0, w[1]) },
		"after":  func(e *evidence, w []string) { e.insert(w[0], 1, w[1]) },
		"swapLines": func(e *evidence, w []string) {
			i, j := e.at(w[0]), e.at(w[1])
			e.book[i], e.book[j] = e.book[j], e.book[i]
		},
		"until": func(e *evidence, w []string) { e.book = e.book[:e.at(w[0])+1] },
		"truncate": func(e *evidence, w []string) {
			n := len(e.book)
			if w[0] != "all" {
				n, _ = strconv.Atoi(w[0])
			}
			e.book = e.book[:len(e.book)-n]
		},
		"sign": func(e *evidence, w []string) {
			key, ok := map[string]*checkpoint.Signer{"": operatorKey, "another": otherKey, "nobody": nil}[w[0]]
			if !ok {
				e.t.Fatalf("sign %s: by another, or by none", w[0])
			}
			e.remake(key)
		},

		// of both
		"both": func(e *evidence, w []string) {
			x := e.exchange(w[0])
			x.metadata.field(e.t, w[1], w[3])
			e.value(e.lineOf(x), w[2], jsonOf(w[3]))
		},
		"bind": func(e *evidence, w []string) {
			if w[0] != "" {
				e.exchange(w[0])
			}
			e.bind(e.touched...)
		},
		"bindBlocks": func(e *evidence, w []string) { e.bindBlocks(e.exchange(w[0])) },
		"commit": func(e *evidence, _ []string) { // to the warcinfo record
			e.value(e.at("run"), "warcinfo_sha256", jsonOf(strings.TrimPrefix(digest(e.kind("warcinfo")[0].block), "sha256:")))
		},
		"without":  func(e *evidence, w []string) { e.without(e.exchange(w[0])) },
		"unedited": func(e *evidence, _ []string) { e.changed = true },

		// of files
		"put": func(e *evidence, w []string) {
			e.file(w[0], func(string) string {
				switch w[1] {
				case "$packed203":
					return zstdOf(e, strings.Replace(strings.Join(e.book, ""), `"status":200`, `"status":203`, 1))
				case "$packed":
					return zstdOf(e, "")
				}
				return w[1]
			})
		},
		"rm": func(e *evidence, w []string) {
			if e.pack != nil {
				delete(e.pack.files, w[0])
				e.pack.names = slices.DeleteFunc(e.pack.names, func(n string) bool { return n == w[0] })
			}
			delete(e.files, w[0])
			delete(e.beside, strings.TrimPrefix(w[0], "ledger/"))
		},
		"cp": func(e *evidence, w []string) { e.files[w[1]] = e.files[w[0]] },
		"filesub": func(e *evidence, w []string) {
			e.file(w[0], func(was string) string { return e.matched(w[1], was, w[2]) })
		},
		"poke": func(e *evidence, w []string) {
			at, _ := strconv.Atoi(w[1])
			e.file(w[0], func(was string) string { return was[:at] + w[2] + was[at+1:] })
		},
		"octet": func(e *evidence, w []string) { // at a number, from the end if negative, or behind a text
			e.file(w[0], func(was string) string {
				at, err := strconv.Atoi(w[1])
				if err != nil {
					at = strings.Index(was, w[1]) + len(w[1])
				} else if at < 0 {
					at += len(was)
				}
				return octet(was, at)
			})
		},
		"unline": func(e *evidence, w []string) { // takes the first line away
			rest := func(was string) string { return was[strings.Index(was, "\n")+1:] }
			if w[0] != "refusals" {
				e.file(w[0], rest)
				return
			}
			r := e.refusals()
			r.block = rest(r.block)
		},
		"compress": func(e *evidence, _ []string) { e.files[segment] = e.members() },

		// of how the evidence is shown
		"leftout": showing(func(e *evidence, tr *trial, w []string) { tr.o.LeftOut, _ = strconv.ParseInt(w[0], 10, 64) }),
		"strict":  showing(func(_ *evidence, tr *trial, _ []string) { tr.o.Strict = true }),
		"redact": showing(func(e *evidence, tr *trial, w []string) { // as curtsy redact does, with --all or the body only
			url := urlOf(w[0])
			s := redact.Subject{Text: url, Covers: func(other string) bool { return other == url }, Host: strings.HasSuffix(url, "/robots.txt")}
			require.NoError(e.t, takeDown(e.t, tr.l.Root, s, w[1] != "body"))
			*tr = directory(tr.l.Root)
		}),
		"log": showing(func(e *evidence, tr *trial, w []string) {
			switch w[0] {
			case "beside": // a log of each site
				tr.logs = e.written(e.logs)
			case "shared": // one log that the servers of all sites wrote together
				tr.logs = e.together("")
			case "named": // and each line names its host
				tr.logs = e.together(":80 ")
			case "overlapping":
				tr.logs = e.overlapping()
			}
		}),
	}
	for name, edit := range acts {
		edits[name] = edit
	}
}

func span(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	require.NoError(t, err)
	return d
}

func (e *evidence) insert(name string, behind int, line string) {
	e.t.Helper()
	line = strings.ReplaceAll(line, "$began", e.exchange(name).metadata.get("WARC-Date"))
	e.book = slices.Insert(e.book, e.at(name)+behind, line+"\n")
}

func (e *evidence) shown(class string) trial {
	var tr trial
	switch class {
	case foreign:
		tr = otherArchive{e}.show()
	case inPackage:
		tr = e.pack.show(e.t)
	default:
		tr = directory(e.write())
	}
	for _, show := range e.show {
		show(&tr)
	}
	return tr
}

func count(s string) int {
	if s == "many" {
		return ledger.MaxUnsynced + 321
	}
	n, _ := strconv.Atoi(s)
	return n
}
