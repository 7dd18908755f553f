package audit

import (
	"hash/fnv"
	"strconv"
)

// maxAsked bounds how many URLs of records without a line are kept. Nothing is excused by what goes beyond.
const maxAsked = 100_000

// kills tells what kills that came before the first commit of their runs leave from what somebody put into the archive. Such
// a kill leaves a file of which no line tells, and the frontier as it was: the next run begins with the same URLs. So of
// several such files behind the last one that lines tell of, each has a URL in common with a later one.
type kills struct {
	asked map[string]map[uint64]bool // the URLs of records without a line, by file
	n     int
	again map[string]bool // what was found out
}

func (k *kills) add(file, url string) {
	if k.n == maxAsked {
		return
	}
	if k.asked == nil {
		k.asked, k.again = map[string]map[uint64]bool{}, map[string]bool{}
	}
	if k.asked[file] == nil {
		k.asked[file] = map[uint64]bool{}
	}
	h := fnv.New64a()
	h.Write([]byte(url)) // a hash never fails
	k.asked[file][h.Sum64()] = true
	k.n++
}

// goOn reports whether one of the files behind file asks again for something that it asks for.
func (k *kills) goOn(file string, behind []string) bool {
	found, known := k.again[file]
	for i := 0; i < len(behind) && !known && !found; i++ {
		for url := range k.asked[file] {
			if found = k.asked[behind[i]][url]; found {
				break
			}
		}
	}
	if k.again != nil {
		k.again[file] = found
	}
	return found
}

// planted reports whether a file without a line, the at-th of the archive, is no work of a run that was killed: it stands
// behind all files with a line, is not the last one, and nothing behind it goes on where it ends.
func (r *runs) planted(at int) bool {
	behind := r.files[min(at+1, len(r.files)):]
	for _, name := range behind {
		if _, lined := r.of[name]; lined {
			return false
		}
	}
	return len(behind) > 0 && !r.kills.goOn(r.files[at], behind)
}

// maxSteps bounds how many steps of the clock are looked at. More are no crawl's.
const maxSteps = 10_000

// stepped takes the first exchange behind such a step.
func (l *Ledger) stepped(e *Exchange) {
	if e.Stepped && len(l.steps) < maxSteps {
		l.steps = append(l.steps, e.finding(LedgerDiffers, "the mark of a run in the ledger for each time that the clock is said to have been set back: "+
			"within a run its dates never go back", ""))
	}
}

// claimed reports the steps of the clock before which no run of the ledger began: a file behind one has lines of a run that
// an earlier file has lines of, too. A run that was killed before the ledger held its mark has no lines.
func (l *Ledger) claimed(found Report) {
	steps := l.steps
	last, before := -1, ""
	for _, file := range l.runs.files {
		n, lined := l.runs.ran[file]
		if len(steps) > 0 && steps[0].File == file {
			if f := steps[0]; lined && n <= last {
				f.Observed = "the lines of " + file + " stand in run " + strconv.Itoa(n) + " of the ledger, as those of " + before + " before it"
				found(f)
			}
			steps = steps[1:]
		}
		if lined && n > last {
			last, before = n, file
		}
	}
}
