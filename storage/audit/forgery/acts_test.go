package forgery

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/redact"
	"curtsy/storage/warc"
)

const (
	bread     = "http://bakery.test/bread"
	cakes     = "http://bakery.test/cakes"
	plums     = "http://bakery.test/plums"
	bakery    = "http://bakery.test/robots.txt"
	timetable = "http://station.test/timetable"
	platforms = "http://station.test/platforms"
	secret    = "http://bakery.test/secret"       // it forbids archiving
	kitchen   = "http://bakery.test/kitchen/oven" // which robots.txt forbids
	index     = "index/curtsy-00000.cdxj"         // the finished index of the crawl
)

var acts = map[string]func(e *evidence, w []string){
	"inventRefusal": func(e *evidence, _ []string) {
		r := e.refusals()
		first, _, _ := strings.Cut(r.block, "\n")
		r.block += strings.Replace(first, "http://far.test/", "http://far.test/more", 1) + "\n"
	},
	"twice": func(e *evidence, w []string) {
		x := e.exchange(w[0])
		e.records = slices.Insert(e.records, slices.Index(e.records, x.metadata)+1, x.ask.clone(), x.answer.clone(), x.metadata.clone())
	},
	"invent": func(e *evidence, w []string) { e.invent(urlOf(w[0])) },
	"inventBoth": func(e *evidence, w []string) {
		line, x := e.book[e.at("bread")], e.invent(urlOf(w[0]))
		i := e.at("stop")
		e.book = slices.Insert(e.book, i, line)
		for field, value := range map[string]string{"record": x.id(), "url": x.url(), "gap_ms": "5000"} {
			e.value(i, field, jsonOf(value))
		}
		e.bind(x)
	},
	"behind": func(e *evidence, w []string) {
		x, y := e.exchange(w[0]), e.exchange(w[1])
		e.drop(x.all()...)
		e.records = slices.Insert(e.records, slices.Index(e.records, y.metadata)+1, x.all()...)
	},
	"last": func(e *evidence, w []string) {
		x := e.exchange(w[0])
		e.drop(x.all()...)
		e.records = append(e.records, x.all()...)
	},
	"secondWarcinfo": func(e *evidence, _ []string) {
		e.records = slices.Insert(e.records, 4, e.kind("warcinfo")[0].clone())
		e.records[4].set("WARC-Record-ID", "<urn:uuid:00000000-0000-4000-8000-000000000007>")
	},
	"stray": func(e *evidence, w []string) { // a record of this type, URL and media type
		e.records = append(e.records, &record{block: "HTTP/1.1 200 OK\r\n\r\nnothing", fields: warc.Fields{
			{Name: "WARC-Type", Value: w[0]}, {Name: "WARC-Record-ID", Value: "<urn:uuid:00000000-0000-4000-8000-000000000008>"},
			{Name: "WARC-Date", Value: e.of("http://bakery.test/new").metadata.get("WARC-Date")}, {Name: "WARC-Target-URI", Value: w[1]},
			{Name: "WARC-Block-Digest", Value: "sha256:"}, {Name: "Content-Type", Value: w[2]}, {Name: "Content-Length", Value: "0"},
		}})
	},

	// files of the archive
	"plant":    func(e *evidence, w []string) { e.plant(w, false) },
	"plantRun": func(e *evidence, w []string) { e.plant(w, true) }, // assigned to another run
	"plantPages": func(e *evidence, w []string) { // robots.txt of so many hosts behind all else
		end := e.end()
		for n := range count(w[0]) {
			at := end.Add(span(e.t, w[1]) + time.Duration(n)*10*time.Millisecond)
			e.records = append(e.records, e.planted(n, 0, fmt.Sprintf("http://planted%d.test/robots.txt", n), at).all()...)
		}
	},
	"plantInFolder": func(e *evidence, _ []string) {
		at := e.end().Add(time.Minute)
		e.addFile(1, at, e.planted(1, 0, "http://first.test/robots.txt", at))
		e.more = map[string][]*record{"more/curtsy-00001.warc": e.more["curtsy-00001.warc"]}
	},
	"killed": func(e *evidence, _ []string) { e.killed() },
	// hasten moves the last exchange with a host to a moment after the one before it, or before that one, and gives it a
	// file that is assigned to another run.
	"hasten": func(e *evidence, w []string) {
		_, last, next := e.tail("station.test")
		by, run := last.began(e.t).Add(100*time.Millisecond), last.began(e.t).Add(-time.Second)
		if w[0] == "" {
			by = run
		}
		next.shift(e.t, by.Sub(next.began(e.t)))
		e.bind(next)
		e.drop(next.all()...)
		e.addFile(1, by.Add(-10*time.Millisecond), next)
		if w[0] != "" {
			e.more["curtsy-00001.warc"][0].block += "run-began: " + run.Format(stamp) + "\r\n"
		}
	},
	// backAndForth gives the archive the files of two more runs: one of a day before, with a request to a host, and one an
	// hour behind, which requests a page from it by the robots.txt that the first run had.
	"backAndForth": func(e *evidence, w []string) {
		end := e.end()
		for n, run := range []struct {
			at    time.Time
			paths []string
		}{{end.Add(-25 * time.Hour), w}, {end.Add(time.Hour), []string{"/later"}}} {
			var xs []exchange
			for m, path := range run.paths {
				if path != "" {
					xs = append(xs, e.planted(n+1, m, "http://bakery.test"+path, run.at.Add(time.Duration(5*m+1)*time.Second)))
				}
			}
			e.addFile(n+1, run.at, xs...)
			e.more[fmt.Sprintf("curtsy-%05d.warc", n+1)][0].block += "run-began: " + run.at.Format(stamp) + "\r\n"
		}
	},

	// checkpoints and keys
	"spoilRoots": func(e *evidence, _ []string) {
		for _, name := range e.notes() {
			lines := strings.SplitAfter(e.beside[name], "\n")
			lines[2] = octet(lines[2], 7)
			e.beside[name] = strings.Join(lines, "")
		}
	},
	"spoilSignatures": func(e *evidence, _ []string) {
		for name, note := range e.beside {
			if strings.HasPrefix(name, "checkpoint") {
				n := len(note) - 8
				e.beside[name] = note[:n] + map[bool]string{true: "B", false: "A"}[note[n] == 'A'] + note[n+1:]
			}
		}
	},
	"keepSignatures": func(e *evidence, _ []string) { // under the key of another
		_, signature, _ := strings.Cut(e.beside["checkpoint"], "\n\n")
		e.remake(otherKey)
		for name, note := range e.beside {
			text, _, _ := strings.Cut(note, "\n\n")
			e.beside[name] = text + "\n\n" + signature
		}
	},
	"dropFirstCheckpoint": func(e *evidence, _ []string) { delete(e.beside, e.notes()[0]) },
	"dropLastCheckpoint": func(e *evidence, _ []string) {
		all := e.notes()
		delete(e.beside, all[len(all)-1])
		e.beside["checkpoint"] = e.beside[all[len(all)-2]]
		maps.DeleteFunc(e.beside, func(name, _ string) bool { return strings.HasPrefix(name, "tile/") })
	},
	"otherOrigin": func(e *evidence, _ []string) {
		all := e.notes()
		note := e.beside[all[len(all)-1]]
		e.beside["checkpoint"] = "curtsy-0badc0de" + note[strings.Index(note, "/"):]
		e.beside[all[len(all)-1]] = e.beside["checkpoint"]
	},
	"keepCosigned": func(e *evidence, _ []string) { // a checkpoint of before
		name := e.notes()[0]
		kept := e.cosigned(e.beside[name])
		e.edit(e.at("run"), `"time":"2000-01-01T00:00:00`, `"time":"2000-01-01T00:00:01`)
		e.remake(nil)
		e.beside[name] = kept
	},
	"cosignAnother": func(e *evidence, _ []string) {
		all := e.notes()
		lines := strings.SplitAfter(strings.TrimSuffix(e.cosigned(e.beside[all[0]]), "\n"), "\n")
		e.beside[all[len(all)-1]] += lines[len(lines)-1] + "\n"
		e.remade = true // a writer of the file can do so; the crawl is unchanged
	},
	"fork": func(e *evidence, w []string) {
		if w[0] == "all" {
			*e = *e.forked()
			return
		}
		name := e.notes()[0]
		e.beside[name] = e.forked().beside[name]
	},
	"rollback": func(e *evidence, w []string) {
		was := maps.Clone(e.beside)
		e.book = e.book[:e.at(w[0])+1]
		e.resign()
		maps.DeleteFunc(was, func(name, _ string) bool { return strings.HasPrefix(name, "tile/") })
		maps.Copy(was, e.beside)
		e.beside = was
	},
	"omit": func(e *evidence, w []string) { // from the map of hosts: a line, or a host
		line := -1
		if !strings.Contains(w[0], ".") {
			line = e.at(w[0])
		}
		e.omits = func(host string, i int) bool { return i == line || host == w[0] }
	},
	"unmark": func(e *evidence, _ []string) {
		e.cut(e.at("file"))
		e.torn = true
		e.resign()
		e.torn = false
	},
	"noLedger": func(e *evidence, _ []string) { e.book = nil },
	"keepTiles": func(e *evidence, _ []string) {
		was := maps.Clone(e.beside)
		e.resign()
		maps.Copy(e.beside, was) // the pen leaves the tiles out
	},

	// archive and ledger alike
	"withoutLast": func(e *evidence, w []string) {
		_, _, last := e.tail(w[0])
		e.without(last)
	},
	"close": func(e *evidence, _ []string) { // takes an exchange out, and makes the next one follow on the one before
		before, gone, next := e.tail("station.test")
		gap := fmt.Sprint(next.began(e.t).Sub(before.began(e.t)).Milliseconds()) // the answer took no time
		e.value(e.lineOf(next), "gap_ms", gap)
		next.metadata.field(e.t, "gapMs", gap)
		e.bind(next)
		e.without(gone)
	},
	"jump": func(e *evidence, _ []string) { // takes an exchange out, as if the clock had jumped
		_, gone, next := e.tail("station.test")
		by := fmt.Sprint(next.began(e.t).Sub(gone.began(e.t)).Milliseconds())
		e.edit(e.lineOf(next), `,"salt"`, `,"clock_ahead_ms":`+by+`,"salt"`)
		next.metadata.field(e.t, "clockAheadMs", by)
		e.bind(next)
		e.without(gone)
	},
	"noMetadata": func(e *evidence, _ []string) {
		all := e.exchanges("")
		for _, x := range all {
			e.drop(x.metadata)
		}
		e.bind(all...)
	},
	"rename": func(e *evidence, w []string) { // an exchange with a page of the bakery to one with another
		x := e.goes(w[0], w[1])
		e.value(e.lineOf(x), "url", jsonOf(x.url()))
		e.bind(x)
	},
	"later": func(e *evidence, w []string) {
		for _, x := range e.site(w[0]) {
			x.shift(e.t, span(e.t, w[1]))
			e.bind(x)
		}
	},
	"slowed": func(e *evidence, w []string) { // answers take a second, and all after them is moved
		for _, x := range e.site(w[0]) {
			x.shift(e.t, time.Duration(slices.Index(e.exchanges(""), x))*time.Second)
			for field, of := range map[string]string{"took_ms": "fetchTimeMs", "first_byte_ms": "firstByteTimeMs"} {
				x.metadata.field(e.t, of, "1000")
				e.value(e.lineOf(x), field, "1000")
			}
			e.bind(x)
		}
	},
	"reword": func(e *evidence, w []string) { // a part of bakery's robots.txt, and all copies of its digest
		x := e.of(bakery)
		sum := func() string { return strings.TrimPrefix(digest(x.answer.payload()), "sha256:") }
		was := sum()
		x.answer.replace(e.t, w[0], w[1])
		is := sum()
		for _, r := range e.kind("metadata") {
			r.block = strings.ReplaceAll(r.block, was, is)
		}
		for i := range e.book {
			e.book[i] = strings.ReplaceAll(e.book[i], was, is)
		}
		e.bind(e.site("bakery.test")...)
	},
	"refusal": func(e *evidence, w []string) { // a text in a refusal, and in its line
		i := e.line(`"decision":"disallow"`, w[0])
		was := strings.TrimSuffix(e.book[i], "\n")
		e.edit(i, regexp.QuoteMeta(w[0]), w[1])
		public := func(line string) string {
			before, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), `,"salt":`)
			return before
		}
		for _, r := range e.kind("metadata") {
			r.block = strings.Replace(r.block, public(was), public(e.book[i]), 1)
		}
		e.resign()
	},
	"otherRobots": func(e *evidence, w []string) { // a page names another host's robots.txt, or all pages of a site do
		id, all := e.exchange(w[0]).id(), e.site(w[1])
		if w[1] == "bread" {
			all = []exchange{e.of(bread)}
		}
		all = slices.DeleteFunc(all, func(x exchange) bool { return !strings.Contains(x.metadata.block, "robotsRecord: ") })
		for _, x := range all {
			x.metadata.field(e.t, "robotsRecord", id)
			e.value(e.lineOf(x), "robots_record", jsonOf(id))
		}
		e.bind(all...)
	},

	// the log of the bakery
	"cutLog": func(e *evidence, w []string) {
		i := e.inLog(w[0])
		e.logs["bakery.test"] = slices.Delete(e.logs["bakery.test"], i, i+1)
	},
	"addLog": func(e *evidence, w []string) {
		i := e.inLog(w[0])
		line := strings.Replace(strings.Replace(e.logs["bakery.test"][i], w[1], w[2], 1), w[3], w[4], 1)
		e.logs["bakery.test"] = slices.Insert(e.logs["bakery.test"], i+1, line)
	},
	"subLog": func(e *evidence, w []string) {
		line := &e.logs["bakery.test"][e.inLog(w[0])]
		*line = e.matched(w[1], *line, w[2])
	},
	"moveLog": func(e *evidence, w []string) {
		i := e.inLog(w[0])
		e.logs[w[1]] = append(e.logs[w[1]], e.logs["bakery.test"][i])
		e.logs["bakery.test"] = slices.Delete(e.logs["bakery.test"], i, i+1)
	},
	"laterInLog": func(e *evidence, _ []string) {
		i, at := e.inLog(`"GET / `), e.exchanges("http://bakery.test/")[0].began(e.t)
		line := &e.logs["bakery.test"][i]
		*line = strings.Replace(*line, at.Format("15:04:05"), at.Add(5*time.Second).Format("15:04:05"), 1)
	},

	// a package, of which liar is that of one whose bread has another body
	"liar": func(e *evidence, w []string) {
		e.of(bread).answer.replace(e.t, "Rye, wheat", "Oat, wheat")
		liar := pack(e.t, e, seedOf("another's"))
		if w[0] == "*" {
			e.pack = liar
			return
		}
		to := w[0]
		if w[1] != "" {
			to = w[1]
		}
		e.file(to, func(string) string { return liar.files[w[0]] })
	},
	"list":   func(e *evidence, w []string) { e.pack.list(w[0]) },
	"seal":   func(e *evidence, _ []string) { e.pack.seal() },
	"unsign": func(e *evidence, _ []string) { e.pack.unsign() },
	"reseal": func(e *evidence, w []string) {
		for _, name := range e.pack.names {
			if prefix, all := strings.CutSuffix(w[0], "*"); name == w[0] || all && strings.HasPrefix(name, prefix) {
				e.pack.list(name)
			}
		}
		e.pack.seal()
		e.pack.unsign()
	},
	"addResource": func(e *evidence, w []string) {
		e.file(packedManifest, func(was string) string {
			return strings.Replace(was, "\"resources\": [", fmt.Sprintf("\"resources\": [{\"path\": %q, \"bytes\": 6, \"hash\": \"sha256:%s\"},", w[0], e.pack.hash(w[0])), 1)
		})
	},

	// the archive of another crawler
	"goes": func(e *evidence, w []string) { e.goes(w[0], w[1]) },
	"keeps": func(e *evidence, w []string) { // a forbidden page in a record of that type, without its request
		x := e.exchange("bread")
		e.drop(x.ask)
		for name, value := range map[string]string{"WARC-Target-URI": kitchen, "WARC-Type": w[0], "Content-Type": w[1]} {
			x.answer.set(name, value)
		}
		x.answer.del("WARC-Payload-Digest")
		if w[1] == "text/html" {
			x.answer.block = x.answer.payload()
		}
	},
	"repeatOf": func(e *evidence, w []string) {
		answer, of := e.exchange(w[0]).answer, e.exchange(w[1]).answer
		was := answer.get("WARC-Payload-Digest")
		answer.body("")
		for name, value := range map[string]string{"WARC-Type": "revisit", "WARC-Refers-To": of.get("WARC-Record-ID"),
			"WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest", "WARC-Payload-Digest": was} {
			answer.set(name, value)
		}
	},
	"hurry":        func(e *evidence, w []string) { otherArchive{e}.hurry("http://"+w[0]+"/", span(e.t, w[1])) },
	"reverseOrder": func(e *evidence, w []string) { otherArchive{e}.reverse("http://" + w[0] + "/") },
	"date": func(e *evidence, w []string) { // moves an exchange to another day, after all others
		x := e.exchange(w[0])
		for _, r := range x.all() {
			r.set("WARC-Date", "2026-11-24T"+w[1])
		}
		e.drop(x.all()...)
		e.records = append(e.records, x.all()...)
	},
}

func (e *evidence) site(host string) []exchange {
	return slices.DeleteFunc(e.exchanges(""), func(x exchange) bool { return host != "" && !strings.HasPrefix(x.url(), "http://"+host+"/") })
}

// goes makes an exchange request another target of the bakery.
func (e *evidence) goes(name, target string) exchange {
	x := e.exchange(name)
	was := strings.SplitN(x.ask.block, " ", 3)[1]
	x.ask.replace(e.t, "GET "+was+" ", "GET "+target+" ")
	for _, r := range x.all() {
		r.set("WARC-Target-URI", "http://bakery.test"+target)
	}
	return x
}

func (e *evidence) inLog(which string) int {
	if len(e.logs) == 0 {
		e.logs = e.siteLogs()
	}
	log := e.logs["bakery.test"]
	if which == "half" {
		return len(log) / 2
	}
	if n, err := strconv.Atoi(which); err == nil {
		return n
	}
	return slices.IndexFunc(log, func(l string) bool { return strings.Contains(l, which) })
}

func (e *evidence) plant(hosts []string, run bool) {
	for n, host := range hosts {
		if host == "" {
			break
		}
		at := e.end().Add(time.Duration(n+1) * time.Minute)
		e.addFile(n+1, at.Add(-10*time.Millisecond), e.planted(n, 0, "http://"+host+"/robots.txt", at), e.planted(n, 1, "http://"+host+"/", at.Add(time.Second)))
		if run {
			e.more[fmt.Sprintf("curtsy-%05d.warc", n+1)][0].block += "run-began: " + at.Format(stamp) + "\r\n"
		}
	}
}

func (e *evidence) invent(url string) exchange {
	x, last := e.of(bread), e.of("http://bakery.test/new")
	n := x.copied(url, func(id string) string { return "a" + id })
	n.shift(e.t, last.began(e.t).Add(5*time.Second).Sub(x.began(e.t)))
	n.ask.replace(e.t, "GET /bread ", "GET "+strings.TrimPrefix(url, "http://bakery.test")+" ")
	n.metadata.field(e.t, "gapMs", "5000")
	n.bindHeads(e)
	e.records = slices.Insert(e.records, slices.Index(e.records, last.metadata)+1, n.all()...)
	return n
}

func (x exchange) copied(url string, id func(was string) string) exchange {
	n := exchange{x.ask.clone(), x.answer.clone(), x.metadata.clone()}
	for _, r := range n.all() {
		for i := range r.fields {
			if was, ok := strings.CutPrefix(r.fields[i].Value, "<urn:uuid:"); ok && r.fields[i].Name != "WARC-Warcinfo-ID" {
				r.fields[i].Value = "<urn:uuid:" + id(was)
			}
		}
		r.set("WARC-Target-URI", url)
	}
	return n
}

func (e *evidence) bind(xs ...exchange) {
	for _, x := range xs {
		i := e.lineOf(x)
		x.bindHeads(e)
		e.value(i, "heads_sha256", `"`+x.heads()+`"`)
		e.bindBlocks(x)
		if x.answer.is("response") && x.answer.get("WARC-Truncated") == "" {
			e.value(i, "payload_sha256", `"`+strings.TrimPrefix(digest(x.answer.payload()), "sha256:")+`"`)
			e.value(i, "octets", fmt.Sprint(len(x.answer.block)))
		}
		e.value(i, "began", `"`+x.metadata.get("WARC-Date")+`"`)
	}
	e.resign()
}

func (e *evidence) bindBlocks(x exchange) {
	var sums []byte
	for _, r := range x.all() {
		if slices.Contains(e.records, r) {
			sum := sha256.Sum256([]byte(r.block))
			sums = append(sums, sum[:]...)
		}
	}
	e.value(e.lineOf(x), "blocks_sha256", fmt.Sprintf(`"%x"`, sha256.Sum256(sums)))
}

func (x exchange) heads() string {
	head, _, whole := strings.Cut(x.answer.block, "\r\n\r\n")
	if head += "\r\n\r\n"; !whole {
		head = ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(x.ask.block+head)))
}

func (x exchange) bindHeads(e *evidence) { x.metadata.field(e.t, "headsSha256", x.heads()) }

func (e *evidence) without(xs ...exchange) {
	for _, x := range xs {
		e.cut(e.lineOf(x))
		e.drop(x.all()...)
	}
	e.resign()
}

func (e *evidence) tail(host string) (before, last, next exchange) {
	all := e.site(host)
	n := len(all)
	return all[n-3], all[n-2], all[n-1]
}

func (e *evidence) killed() {
	e.torn = true
	e.book = slices.DeleteFunc(e.book, func(l string) bool {
		return strings.HasPrefix(l, `{"mark":"file"`) || strings.HasPrefix(l, `{"mark":"stop"`)
	})
	e.resign()
	e.remade = false
}

func (e *evidence) end() (end time.Time) {
	for _, x := range e.exchanges("") {
		if at := x.began(e.t); at.After(end) {
			end = at
		}
	}
	return end
}

func (e *evidence) planted(n, m int, url string, at time.Time) exchange {
	like := bread
	if strings.HasSuffix(url, "/robots.txt") {
		like = bakery
	}
	x := e.of(like).copied(url, func(id string) string { return fmt.Sprintf("%06x", 16*n+m) + id[6:] })
	for _, r := range x.all() {
		r.set("WARC-IP-Address", fmt.Sprintf("198.19.%d.%d", n/250, n%250))
	}
	x.metadata.del("WARC-IP-Address")
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	x.ask.replace(e.t, "Host: bakery.test", "Host: "+host)
	if like == bread {
		x.ask.replace(e.t, "GET /bread ", "GET /"+path+" ")
	}
	x.shift(e.t, at.Sub(x.began(e.t)))
	x.bindHeads(e)
	return x
}

func (e *evidence) addFile(n int, at time.Time, xs ...exchange) {
	info := e.kind("warcinfo")[0].clone()
	name := fmt.Sprintf("curtsy-%05d.warc", n)
	info.set("WARC-Date", at.Format(stamp))
	info.set("WARC-Filename", name)
	info.set("WARC-Record-ID", fmt.Sprintf("<urn:uuid:00000000-0000-4000-8000-%012d>", 100+n))
	records := []*record{info}
	for _, x := range xs {
		records = append(records, x.all()...)
	}
	for _, r := range records[1:] {
		r.set("WARC-Warcinfo-ID", info.get("WARC-Record-ID"))
	}
	if e.more == nil {
		e.more = map[string][]*record{}
	}
	e.more[name], e.changed = records, true
}

func octet(text string, at int) string {
	with := "1"
	if text[at:at+1] == with {
		with = "2"
	}
	return text[:at] + with + text[at+1:]
}

func (e *evidence) notes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e.beside)), func(name string) bool { return !strings.HasPrefix(name, "checkpoints/") })
}

var witnessKey = func() *checkpoint.Signer {
	s, err := checkpoint.WitnessSigner("witness.test/w", seedOf("the witness"))
	if err != nil {
		panic(err)
	}
	return s
}()

func (e *evidence) cosigned(note string) string {
	n, err := checkpoint.Parse([]byte(note))
	require.NoError(e.t, err)
	sig, err := witnessKey.Cosign(n)
	require.NoError(e.t, err)
	n.Add(sig)
	return string(n.Marshal())
}

func (e *evidence) forked() *evidence {
	other := &evidence{t: e.t, records: e.records, book: slices.Clone(e.book), beside: maps.Clone(e.beside), files: e.files, was: e.was}
	i := other.line(`"mark":"run"`)
	other.edit(i, `"time":"2000-01-01T00:00:00`, `"time":"2000-01-01T00:00:01`)
	other.resign()
	return other
}

func zstdOf(e *evidence, text string) string {
	z, err := zstd.NewWriter(nil)
	require.NoError(e.t, err)
	return string(z.EncodeAll([]byte(text), nil))
}

func takeDown(t *testing.T, dir string, s redact.Subject, all bool) error {
	t.Helper()
	j, err := redact.Prepare(t.Context(), redact.Request{Dir: dir, Subject: s, All: all})
	if err != nil {
		return err
	}
	return j.Finish(t.Context(), dir, redact.Hands{Ledger: func() (*ledger.Writer, error) {
		return ledger.Open(ledger.Options{Dir: filepath.Join(dir, "ledger"), Signer: operatorKey, Software: "curtsy/1"})
	}})
}
