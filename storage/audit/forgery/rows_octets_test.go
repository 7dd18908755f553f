package forgery

import (
	"maps"
	"slices"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/ledger/checkpoint"
)

// index is the finished index of the crawl.
const index = "index/curtsy-00000.cdxj"

// octet changes one octet of a text, to one that is as likely there.
func octet(text string, at int) string {
	with := "1"
	if text[at:at+1] == with {
		with = "2"
	}
	return text[:at] + with + text[at+1:]
}

// octetRows change files that no record and no line tells of.
var octetRows = []row{
	{class: inArchive, name: "a file is compressed again, with the same content", found: finding.FileDiffers, forge: func(e *evidence) {
		e.files[segment] = e.members()
	}},
	{class: inArchive, name: "a byte of a gzip header, which names the system that wrote it", found: finding.FileDiffers, forge: func(e *evidence) {
		e.files[segment] = e.files[segment][:9] + "\x03" + e.files[segment][10:]
	}},
	{class: inIndex, name: "a byte", found: finding.FileDiffers, forge: func(e *evidence) {
		e.files[index] = octet(e.files[index], strings.Index(e.files[index], `"offset":"`)+len(`"offset":"`))
	}},
	{class: inIndex, name: "a line is removed", found: finding.FileDiffers, forge: func(e *evidence) {
		_, e.files[index], _ = strings.Cut(e.files[index], "\n")
	}},
	{class: inIndex, name: "it is removed", found: finding.FileMissing, forge: func(e *evidence) { delete(e.files, index) }},
	{class: inIndex, name: "one is put in", found: finding.FileExtra, forge: func(e *evidence) { e.files["index/curtsy-00001.cdxj"] = e.files[index] }},
	{class: inConfig, name: "a byte", found: finding.Settings, forge: func(e *evidence) {
		e.files[settingsName] = strings.Replace(settings, `"1s"`, `"9s"`, 1)
	}},
	{class: inConfig, name: "they are removed", found: finding.Settings, forge: func(e *evidence) { delete(e.files, settingsName) }},
	{class: inLedger, name: "a byte of a tile", found: finding.LedgerTiles, forge: func(e *evidence) {
		for name, text := range e.beside {
			if strings.HasPrefix(name, "tile/0/") {
				e.beside[name] = octet(text, 100)
			}
		}
	}},
	{class: inLedger, name: "a byte of the map of hosts", found: finding.LedgerHosts, forge: func(e *evidence) {
		text := e.beside["hosts.jsonl"]
		e.beside["hosts.jsonl"] = octet(text, strings.Index(text, `"count":`)+len(`"count":`))
	}},
	{class: inLedger, name: "a name in the map of hosts", found: finding.LedgerHosts, forge: func(e *evidence) {
		e.beside["hosts.jsonl"] = strings.Replace(e.beside["hosts.jsonl"], "bakery", "makery", 1)
	}},
	{class: inLedger, name: "the map of hosts is removed", found: finding.LedgerHosts, forge: func(e *evidence) { delete(e.beside, "hosts.jsonl") }},
	{class: inLedger, name: "the mark of a file is removed", found: finding.FileExtra, forge: func(e *evidence) { e.cut(e.line(`"mark":"file"`, segment)) }},
	{class: inLedger, name: "the root of a checkpoint", found: finding.LedgerRoot, forge: func(e *evidence) {
		for _, name := range e.notes() {
			lines := strings.SplitAfter(e.beside[name], "\n")
			lines[2] = octet(lines[2], 7)
			e.beside[name] = strings.Join(lines, "")
		}
	}},
	{class: inLedger, name: "the last checkpoint is removed", found: finding.LedgerRoot, forge: func(e *evidence) {
		all := e.notes()
		delete(e.beside, all[len(all)-1])
		e.beside["checkpoint"] = e.beside[all[len(all)-2]]
		maps.DeleteFunc(e.beside, func(name, _ string) bool { return strings.HasPrefix(name, "tile/") })
	}},
	{class: inLedger, name: "an earlier checkpoint is removed", found: finding.LedgerRoot, forge: func(e *evidence) { delete(e.beside, e.notes()[0]) }},
	{class: inLedger, name: "lines are cut off its end, and the checkpoints left", found: finding.LedgerShort, forge: func(e *evidence) {
		e.book = e.book[:len(e.book)-5]
	}},
	{class: inLedger, name: "a checkpoint of another log", found: finding.LedgerOrigin, forge: func(e *evidence) {
		all := e.notes()
		note := e.beside[all[len(all)-1]]
		e.beside["checkpoint"] = "curtsy-0badc0de" + note[strings.Index(note, "/"):]
		e.beside[all[len(all)-1]] = e.beside["checkpoint"]
	}},
}

// notes are the names of the stored checkpoints, from the first.
func (e *evidence) notes() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(e.beside)), func(name string) bool { return !strings.HasPrefix(name, "checkpoints/") })
}

// witnessKey cosigns what it is shown.
var witnessKey = func() *checkpoint.Signer {
	s, err := checkpoint.WitnessSigner("witness.test/w", seedOf("the witness"))
	if err != nil {
		panic(err)
	}
	return s
}()

// cosigned is a note that the witness has cosigned.
func (e *evidence) cosigned(note string) string {
	n, err := checkpoint.Parse([]byte(note))
	if err != nil {
		e.t.Fatal(err)
	}
	sig, err := witnessKey.Cosign(n)
	if err != nil {
		e.t.Fatal(err)
	}
	n.Add(sig)
	return string(n.Marshal())
}

// forked is a ledger of the operator's that says something else of one page.
func (e *evidence) forked() *evidence {
	other := &evidence{t: e.t, records: e.records, book: slices.Clone(e.book), beside: maps.Clone(e.beside), files: e.files, was: e.was}
	i := other.line(`"mark":"run"`)
	other.edit(i, `"time":"2000-01-01T00:00:00`, `"time":"2000-01-01T00:00:01`)
	other.resign()
	return other
}

// signerRows are of a forger who has shown others another ledger, or whose ledger is not the operator's.
var signerRows = []row{
	{class: inLedger, name: "a fork: the operator has signed another history, and one of its checkpoints is kept", found: finding.LedgerFork, forge: func(e *evidence) {
		name := e.notes()[0]
		e.beside[name] = e.forked().beside[name]
	}},
	{class: inLedger, name: "a rollback: lines are cut off its end, everything is signed again, and the checkpoints of before are left", found: finding.LedgerShort, forge: func(e *evidence) {
		was := maps.Clone(e.beside)
		e.book = e.book[:e.lineOf(e.of(platforms))+1]
		e.resign()
		all := maps.Clone(was)
		maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "tile/") })
		maps.Copy(all, e.beside)
		e.beside = all
	}},
	{class: inLedger, name: "the map of hosts leaves a line of a host out, and everything is signed again", found: finding.LedgerHosts, forge: func(e *evidence) {
		bread := e.lineOf(e.of(bread))
		e.omits = func(_ string, line int) bool { return line == bread }
		e.resign()
	}},
	{class: inLedger, name: "the map of hosts leaves a host out, and everything is signed again", found: finding.LedgerHosts, forge: func(e *evidence) {
		e.omits = func(host string, _ int) bool { return host == "harbour.test" }
		e.resign()
	}},
	{class: inLedger, name: "the mark of a file is removed, and everything is signed again", found: finding.FileExtra, forge: func(e *evidence) {
		e.cut(e.line(`"mark":"file"`, segment))
		e.torn = true
		e.resign()
		e.torn = false
	}},
	{class: inLedger, name: "the mark of the run declares the clock as set back before it, and everything is signed again", found: finding.LedgerLines, forge: func(e *evidence) {
		e.edit(e.line(`"mark":"run"`), `"cut":0`, `"cut":0,"clock_back_us":3600000000`)
		e.resign()
	}},
	{class: inLedger, name: "a second run that does not record the kill of the first, and everything is signed again", found: finding.LedgerLines, forge: func(e *evidence) {
		i := e.line(`"mark":"run"`)
		e.book = slices.Insert(e.book, i+1, strings.Replace(e.book[i], "2000-01-01T00:00:00", "2000-01-01T00:00:01", 1))
		e.resign()
	}},
	{class: inLedger, name: "someone else signs all of it again", found: finding.LedgerKey, with: known, forge: func(e *evidence) { e.remake(otherKey) }},
	{class: inLedger, name: "it is not signed, and a key is known", found: finding.LedgerKey, with: known, forge: func(e *evidence) { e.remake(nil) }},
	{class: inLedger, name: "a line is changed, and everything is made again except a checkpoint that a witness cosigned", found: finding.LedgerRoot, forge: func(e *evidence) {
		name := e.notes()[0]
		kept := e.cosigned(e.beside[name])
		e.edit(e.line(`"mark":"run"`), `"time":"2000-01-01T00:00:00`, `"time":"2000-01-01T00:00:01`)
		e.remake(nil)
		e.beside[name] = kept
	}},
	{class: inLedger, name: "a fork that no witness has cosigned, signed by the operator", found: finding.Cosignature, with: witness, forge: func(e *evidence) { *e = *e.forked() }},
	{class: inLedger, name: "a cosignature of another checkpoint", found: finding.Cosignature, with: witness, forge: func(e *evidence) {
		all := e.notes()
		other := e.cosigned(e.beside[all[0]])
		lines := strings.SplitAfter(strings.TrimSuffix(other, "\n"), "\n")
		e.beside[all[len(all)-1]] += lines[len(lines)-1] + "\n"
		e.remade = true // who can write there can do so; nothing of the crawl is changed
	}},
	{class: inBoth, name: "one site was handed a bundle of another ledger, which holds by itself and is signed by the operator", found: finding.LedgerHead,
		with: bundled, forge: func(e *evidence) { e.changed = true }},
	{class: inBoth, name: "one site was shown another ledger than all others", found: finding.LedgerHead, with: another, forge: func(e *evidence) { e.changed = true }},
}
