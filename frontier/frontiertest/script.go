package frontiertest

import (
	"embed"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

//go:embed rules/*.txt
var texts embed.FS

type line struct {
	place string // "order.txt:12"
	text  string
}

func scriptRules() []rule {
	var rules []rule
	files, err := texts.ReadDir("rules")
	if err != nil {
		panic(err) // embedded
	}
	for _, f := range files {
		text, err := texts.ReadFile("rules/" + f.Name())
		if err != nil {
			panic(err) // embedded
		}
		rules = append(rules, rulesOf(f.Name(), string(text))...)
	}
	return rules
}

func rulesOf(file, text string) (rules []rule) {
	var lines []line
	add := func() {
		if len(lines) > 0 {
			rules = append(rules, ruleOf(lines))
		}
		lines = nil
	}
	n := 0
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "== ") {
			add()
		}
		if l != "" && l[0] != '#' {
			lines = append(lines, line{fmt.Sprint(file, ":", n), l})
		}
	}
	add()
	for i, r := range rules {
		if slices.ContainsFunc(rules[:i], func(other rule) bool { return other.Name == r.Name }) {
			panic(file + " has two rules " + r.Name)
		}
	}
	return rules
}

// ruleOf returns the rule of a script. It panics without a name or commands.
func ruleOf(lines []line) rule {
	place := lines[0].place
	name, named := strings.CutPrefix(lines[0].text, "== ")
	r := rule{Name: name}
	lines = lines[1:]
	if len(lines) > 0 {
		if words, ok := strings.CutPrefix(lines[0].text, "with "); ok {
			r.Options, r.Crash = optionsOf(words)
			lines = lines[1:]
		}
	}
	if !named || len(lines) == 0 {
		panic(place + ": a rule has no name or no commands")
	}
	r.Test = func(s *Stage) {
		x := &script{Stage: s, turns: map[string]frontier.Turn{}, tasks: map[string]frontier.Task{}, begin: time.Now()}
		s.TB = &placedTest{s.TB, &x.line}
		x.play(lines)
	}
	return r
}

// optionsOf reads options: "Pace=1s MaxURLs=3", and "crash".
func optionsOf(text string) (o frontier.Options, crash bool) {
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		field := reflect.ValueOf(&o).Elem().FieldByName(name)
		d, notSpan := time.ParseDuration(value)
		n, notNumber := strconv.ParseInt(value, 10, 64)
		switch {
		case word == "crash":
			crash = true
		case word == "Order=depth":
			o.Order = frontier.DepthFirst
		case notSpan == nil && field.Type() == reflect.TypeFor[time.Duration]():
			field.SetInt(int64(d))
		case notNumber == nil && field.CanInt():
			field.SetInt(n)
		case value == "true" && field.Kind() == reflect.Bool:
			field.SetBool(true)
		default:
			panic("frontiertest: a script has the option " + word)
		}
	}
	return o, crash
}

// placedTest is a test whose failures name the line of the script.
type placedTest struct {
	testing.TB
	line *line
}

func (p *placedTest) Errorf(format string, args ...any) {
	p.Helper()
	p.TB.Errorf("%s: %s\n"+format, append([]any{p.line.place, p.line.text}, args...)...)
}

func (p *placedTest) Fatalf(format string, args ...any) {
	p.Helper()
	p.Errorf(format, args...)
	p.FailNow()
}

// script plays a rule: see the package comment.
type script struct {
	*Stage
	line    line
	checked bool                     // the line compares the answer of its command
	turns   map[string]frontier.Turn // the latest of each host by its name, the latest of all as "", and those named by "as"
	tasks   map[string]frontier.Task // as they were last given, by short URL
	begin   time.Time                // for "elapsed"
	answer  func() (frontier.Claimed, error)
	calls   tellCalls
}

type verb struct {
	least, most int // words of its arguments
	answer      answers
	run         func(s *script, args string) string // returns the answer
}

const many = math.MaxInt // arguments: any number

// answers is whether the answer of a command is compared.
type answers int

const (
	noAnswer   answers = iota // it has none
	mayAnswer                 // a line that does not compare it fails unless the command succeeds
	mustAnswer                // the command tests nothing else
)

var commands map[string]verb

func init() { // it refers to itself
	do := func(f func(s *script)) verb {
		return verb{0, 0, noAnswer, func(s *script, _ string) string { f(s); return "" }}
	}
	commands = map[string]verb{
		"add": {1, many, mayAnswer, func(s *script, args string) string {
			return addedText(s.Add(s.candidates(strings.Fields(args))))
		}},
		"turn": {1, 1, mayAnswer, func(s *script, tasks string) string {
			t := s.Turn(s.number(tasks))
			s.record(t)
			return taskNames(t.Tasks)
		}},
		"claim": {2, 3, mayAnswer, (*script).claim},
		"alone": {1, 1, mayAnswer, (*script).alone},
		"as":    {1, 1, noAnswer, func(s *script, name string) string { s.turns["@"+name] = s.turnOf(""); return "" }},
		"tasks": {0, 0, mustAnswer, func(s *script, _ string) string { return taskNames(s.turnOf("").Tasks) }},

		"finish": {0, many, mayAnswer, (*script).finish},
		"close":  do((*script).CloseAll),
		"drain":  {0, 1, mayAnswer, func(s *script, within string) string { return strings.Join(s.Drain(s.span(within)), " ") }},

		"blocked": {1, 1, noAnswer, func(s *script, d string) string { s.Blocked(s.span(d)); return "" }},
		"waiting": {0, 1, noAnswer, func(s *script, wait string) string {
			s.answer = s.Waiting(frontier.Want{Tasks: 10, MaxWait: s.span(wait)})
			return ""
		}},
		"answer": {0, 0, mustAnswer, func(s *script, _ string) string {
			c, err := s.answer()
			if err != nil {
				return err.Error()
			}
			return s.describeClaim(c)
		}},

		"retry":  {1, many, mayAnswer, (*script).retry},
		"park":   {1, many, mayAnswer, func(s *script, args string) string { return s.steer(frontier.Park, args) }},
		"drop":   {1, many, mayAnswer, func(s *script, args string) string { return s.steer(frontier.Drop, args) }},
		"resume": {1, many, mayAnswer, func(s *script, args string) string { return s.steer(frontier.Resume, args) }},
		"rest":   {1, many, mayAnswer, func(s *script, args string) string { return s.steer(frontier.Rest, args) }},

		"stats": {1, many, noAnswer, func(s *script, facts string) string { s.facts(s.Stats(), facts); return "" }},
		"host": {2, many, noAnswer, func(s *script, args string) string {
			name, facts, _ := strings.Cut(args, " ")
			s.facts(s.Host(name), facts)
			return ""
		}},
		"listed": {1, many, noAnswer, func(s *script, facts string) string { s.facts(s.Hosts(1)[0], facts); return "" }},
		"task": {2, many, noAnswer, func(s *script, args string) string {
			url, facts, _ := strings.Cut(args, " ")
			s.facts(s.task(url), facts)
			return ""
		}},
		"lease": {1, many, noAnswer, func(s *script, facts string) string { s.facts(s.turnOf("").Lease, facts); return "" }},
		"given": {1, many, noAnswer, func(s *script, facts string) string { s.facts(s.turnOf("").Host, facts); return "" }},
		"newer": {1, 1, mustAnswer, (*script).newer},

		"seen":  {1, 1, mustAnswer, func(s *script, url string) string { return fmt.Sprint(s.Seen(url)) }},
		"entry": {2, many, noAnswer, (*script).entry},
		"quarantined": {0, 0, mustAnswer, func(s *script, _ string) string {
			cs, err := s.Frontier.Quarantined(s.Context())
			require.NoError(s, err, "Quarantined")
			return shorts(cs, func(c frontier.Candidate) canon.URL { return c.URL })
		}},
		"survey": {1, 1, mustAnswer, func(s *script, n string) string { // the longest queues and those that are shut
			v := s.Survey(s.number(n))
			return strings.TrimSpace(strings.ReplaceAll("longest"+lengths(v.Longest)+"; shut"+lengths(v.Shut), ".test:", ":"))
		}},
		"counted":  {1, many, noAnswer, func(s *script, facts string) string { s.facts(s.Survey(0), facts); return "" }},
		"due":      {1, 1, noAnswer, func(s *script, span string) string { due(s.Stage, s.span(span)); return "" }},
		"listen":   do(func(s *script) { s.Reopen(s.calls.options()) }),
		"unsynced": do(func(s *script) { require.ErrorIs(s, s.Frontier.Sync(s.Context()), errDeaf) }),
		"deaf":     do(func(s *script) { s.calls.hears(errDeaf) }),
		"hear":     do(func(s *script) { s.calls.hears(nil) }),
		"heard":    {0, 0, mustAnswer, func(s *script, _ string) string { return s.calls.since() }},
		"fill":     do(func(s *script) { fill(s.Stage) }),
		"seeds": {0, 0, mustAnswer, func(s *script, _ string) string {
			seeds, err := frontier.SeedsOf(s.Context(), s.Frontier)
			require.NoError(s, err, "AllSeeds")
			return shorts(seeds, func(x frontier.Seed) canon.URL { return x.URL })
		}},
		"blob": {1, many, mustAnswer, func(s *script, body string) string {
			b, err := s.Frontier.Blob(s.Context(), digest(body))
			return fmt.Sprint(err == nil && string(b) == body)
		}},

		"sleep":   {1, 1, noAnswer, func(s *script, d string) string { s.Sleep(s.span(d)); return "" }},
		"outlast": do(func(s *script) { s.Sleep(turnLength + time.Millisecond) }),
		"begin":   do(func(s *script) { s.begin = time.Now() }),
		"elapsed": {0, 0, mustAnswer, func(s *script, _ string) string { return spanText(time.Since(s.begin)) }},

		"reopen": {0, many, noAnswer, func(s *script, args string) string { s.Close(); return s.open(args) }},
		"open":   {0, many, noAnswer, (*script).open},
		"paced":  do(func(s *script) { openPaced(s.Stage) }),
		"shut":   do(func(s *script) { s.Close() }),
		"crash":  do(func(s *script) { s.Crash() }),
		"fall":   do(func(s *script) { fall(s.Stage) }),
		"kill":   do(func(s *script) { s.Kill() }),
		"sync":   do(func(s *script) { s.Sync() }),

		// These take a command.
		"same": {1, many, mayAnswer, func(s *script, rest string) string { s.Same(func() { s.do(rest) }); return "" }},
		"sorted": {1, many, mustAnswer, func(s *script, rest string) string {
			return strings.Join(slices.Sorted(slices.Values(strings.Fields(s.do(rest)))), " ")
		}},
		"of": {2, many, mustAnswer, func(s *script, rest string) string {
			host, rest, _ := strings.Cut(rest, " ")
			other := func(u string) bool { return !strings.HasPrefix(u, host+"/") }
			return strings.Join(slices.DeleteFunc(strings.Fields(s.do(rest)), other), " ")
		}},
		"unchanged": {1, many, mayAnswer, func(s *script, rest string) (answer string) {
			unchanged(s.Stage, func() { answer = s.do(rest) })
			return answer
		}},
	}
}

// play plays lines. It repeats those between "times n" and "end".
func (s *script) play(lines []line) {
	for i := 0; i < len(lines); i++ {
		s.line = lines[i]
		if times, ok := strings.CutPrefix(lines[i].text, "times "); ok {
			length := slices.IndexFunc(lines[i:], func(l line) bool { return l.text == "end" })
			n := s.number(times)
			require.True(s, length >= 0 && n >= 1, "nothing is played: the end is missing, or the number is below 1")
			for range n {
				s.play(lines[i+1 : i+length])
			}
			i += length
			continue
		}
		command, want, checked := strings.Cut(lines[i].text+" ", " = ")
		s.checked = checked
		got := s.do(strings.TrimSpace(ranges(command)))
		if want = strings.TrimSpace(want); checked && !slices.Contains(strings.Split(ranges(want), " or "), got) {
			s.Fatalf("the answer is %q", got)
		}
	}
}

func (s *script) do(text string) string {
	name, args, _ := strings.Cut(text, " ")
	c, ok := commands[name]
	n := len(strings.Fields(args))
	switch {
	case !ok:
		s.Fatalf("unknown command %s", name)
	case n < c.least || n > c.most:
		s.Fatalf("%s has %d arguments", name, n)
	case strings.Contains(" "+text, " ="):
		s.Fatalf("the space after the equals sign is missing")
	case c.answer == mustAnswer && !s.checked:
		s.Fatalf("the answer of %s is not compared", name)
	case c.answer == noAnswer && s.checked:
		s.Fatalf("%s has no answer", name)
	}
	return c.run(s, args)
}

// open opens the frontier with the same options, or with those after the word "with".
func (s *script) open(args string) string {
	s.Helper()
	switch words, options, _ := strings.Cut(args, " "); words {
	case "":
		s.Open(s.Options)
	case "with":
		o, _ := optionsOf(options)
		s.Open(o)
	default:
		s.Fatalf("give the options after the word with")
	}
	return ""
}

// turnOf returns the turn of that name, "@a", or the latest.
func (s *script) turnOf(name string) frontier.Turn {
	s.Helper()
	t, ok := s.turns[name]
	require.Truef(s, ok, "no turn %s was given", name)
	return t
}

func (s *script) task(url string) frontier.Task {
	s.Helper()
	x, ok := s.tasks[url]
	require.Truef(s, ok, "the task %s was not given", url)
	return x
}

// ranges expands "a/0..2" to "a/0 a/1 a/2".
func ranges(text string) string {
	words := strings.Split(text, " ")
	for i, w := range words {
		stem, numbers, _ := strings.Cut(w, "/")
		from, to, found := strings.Cut(numbers, "..")
		first, err := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if !found || err != nil || err2 != nil {
			continue
		}
		var all []string
		for n := first; n <= last; n++ {
			all = append(all, fmt.Sprint(stem, "/", n))
		}
		words[i] = strings.Join(all, " ")
	}
	return strings.Join(words, " ")
}

// candidates reads links: "a/1", "^a/1" for a seed, "a/1!trap" for a refused one, or a whole URL.
func (s *script) candidates(words []string) (cs []frontier.Candidate) {
	s.Helper()
	for _, w := range words {
		seed, isSeed := strings.CutPrefix(w, "^")
		u, reason, refused := strings.Cut(w, "!")
		switch {
		case !strings.Contains(w, "/"):
			s.Fatalf("%s is not a URL", w)
		case isSeed:
			cs = append(cs, s.Seeds(seed)...)
		case refused:
			cs = append(cs, s.Refused(reason, u)...)
		case strings.Contains(w, "://"):
			u, err := canon.Parse(w)
			require.NoError(s, err)
			cs = append(cs, s.Links("a/0")...)
			cs[len(cs)-1].URL = u
		default:
			cs = append(cs, s.Links(w)...)
		}
	}
	return cs
}

func (s *script) number(text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(s, err)
	return n
}

func (s *script) span(text string) time.Duration {
	switch text {
	case "":
		return 0
	case "never":
		return frontier.Never
	}
	d, err := time.ParseDuration(text)
	require.NoError(s, err)
	return d
}

// spanText formats a duration: "1h", "0s", "never".
func spanText(d time.Duration) string {
	if d == frontier.Never {
		return "never"
	}
	text := d.String()
	for _, none := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, none) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// cutReason cuts a reason in parentheses off the end of a text.
func (s *script) cutReason(text string) (words []string, reason string) {
	s.Helper()
	text, reason, found := strings.Cut(strings.TrimSpace(text), "(")
	reason, closed := strings.CutSuffix(reason, ")")
	require.True(s, found == closed, "a reason does not end with a parenthesis")
	return strings.Fields(text), reason
}

// counts joins numbers with their words, without zeros: "2 new, 1 known".
func counts(words string, ns ...int64) string {
	var all []string
	for i, word := range strings.Fields(words) {
		if ns[i] != 0 {
			all = append(all, fmt.Sprint(ns[i], " ", word))
		}
	}
	return strings.Join(all, ", ")
}

func addedText(n frontier.Added) string {
	text := counts("new refused known capped", int64(n.New), int64(n.Refused), int64(n.Known), int64(n.Capped))
	if n.Barred != nil {
		text += strings.Trim(fmt.Sprint(", barred ", n.Barred), "]")
	}
	return strings.Replace(text, "[", "", 1)
}

// taskNames returns tasks, with the stops of suspects: "a/0 a/1:2".
func taskNames(ts []frontier.Task) string {
	var all []string
	for _, t := range ts {
		name := Short(t.URL)
		if t.Stops > 0 {
			name += fmt.Sprint(":", t.Stops)
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// record stores a turn.
func (s *script) record(t frontier.Turn) {
	s.turns[""], s.turns["@"+strings.TrimSuffix(t.Authority.Host(), ".test")] = t, t
	for _, x := range t.Tasks {
		Want(s.Stage, "the authority of a task", x.URL.Authority(), t.Authority)
		s.tasks[Short(x.URL)] = x
	}
}

// claim claims hosts, with tasks of each, within a time: "2 1 1h". It fails without a turn if the answer is not
// compared.
func (s *script) claim(args string) string {
	s.Helper()
	words := append(strings.Fields(args), "0s")
	c := s.ClaimWithin(s.number(words[0]), s.number(words[1]), s.span(words[2]))
	if len(c.Turns) == 0 {
		st := s.Stats()
		Want(s.Stage, "state and due of Stats", fmt.Sprint(st.State, st.Due), fmt.Sprint(c.State, c.Due))
	}
	text := s.describeClaim(c)
	require.Truef(s, len(c.Turns) != 0 || s.checked, "no turn: %s", text)
	return text
}

// describeClaim records the turns of a Claim, by host, and describes its answer.
func (s *script) describeClaim(c frontier.Claimed) string {
	slices.SortFunc(c.Turns, func(a, b frontier.Turn) int { return strings.Compare(a.Authority.String(), b.Authority.String()) })
	var all []string
	for _, t := range c.Turns {
		s.record(t)
		all = append(all, taskNames(t.Tasks))
	}
	switch {
	case len(all) > 0:
		return strings.Join(all, "; ")
	case c.State == frontier.Waiting:
		return "waiting " + spanText(c.Due)
	}
	return stateText(c.State)
}

func stateText(x frontier.State) string { return []string{"busy", "drained", "waiting", "full"}[x] }

// newer returns why the latest token is larger than that of an earlier turn: a later opening or a later turn.
func (s *script) newer(name string) string {
	old, now := s.turnOf("@"+name).Token, s.turnOf("").Token
	switch {
	case now>>32 > old>>32:
		return "opening"
	case now > old:
		return "turn"
	}
	return "not newer"
}

// alone claims an authority, and fails without a lease if the answer is not compared.
func (s *script) alone(name string) string {
	s.Helper()
	t, err := s.Frontier.ClaimAuthority(s.Context(), s.Authority(name))
	s.CheckSums()
	switch {
	case err != nil && !s.checked:
		s.Fatalf("ClaimAuthority: %v", err)
	case errors.Is(err, frontier.ErrNotDue):
		return "not due"
	case err != nil:
		return err.Error()
	}
	s.record(t)
	return "leased"
}

// finish finishes a turn: "@a fetched a/1 a/2; deferred a/3 1h (status 500); keep 2", or several in one call, joined by
// " + ". It fails unless a result is applied, if the answer is not compared.
func (s *script) finish(args string) string {
	var results []frontier.Result
	var turns []frontier.Turn
	for part := range strings.SplitSeq(args, " + ") {
		name := ""
		if part != "" && part[0] == '@' {
			name, part, _ = strings.Cut(part, " ")
		}
		turns = append(turns, s.turnOf(name))
		results = append(results, s.result(s.turnOf(name), part))
	}
	var all []string
	for i, f := range s.finishAll(results) {
		all = append(all, s.describeFinish(turns[i], results[i], f))
	}
	return strings.TrimSpace(strings.Join(all, " + "))
}

// describeFinish describes the answer to a result, and records the tasks that it gives.
func (s *script) describeFinish(t frontier.Turn, r frontier.Result, f frontier.Finished) string {
	s.Helper()
	switch {
	case f.Err != nil && !s.checked:
		s.Fatalf("Finish: %v", f.Err)
	case errors.Is(f.Err, frontier.ErrStale):
		return "stale"
	case f.Err != nil:
		return f.Err.Error()
	}
	t.Tasks = append(slices.Clip(t.Tasks), f.Tasks...)
	if r.Keep {
		s.record(t)
	}
	var all []string
	for _, part := range [][2]string{{"", addedText(f.Added)}, {"more ", taskNames(f.Tasks)}, {"dropped ", s.printList(f.Dropped)}} {
		if part[1] != "" {
			all = append(all, part[0]+part[1])
		}
	}
	return strings.Join(all, "; ")
}

func (s *script) printList(ps []frontier.Fingerprint) string {
	var all []string
	for u, x := range s.tasks {
		if slices.Contains(ps, x.Print) {
			all = append(all, u)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (s *script) result(t frontier.Turn, text string) frontier.Result {
	s.Helper()
	r := resultOf(t)
	for clause := range strings.SplitSeq(text, ";") {
		words, reason := s.cutReason(clause)
		if len(words) == 0 {
			continue
		}
		args := words[1:]
		if most, ok := map[string]int{"full": 0, "extend": 1, "wait": 1, "keep": 1, "token": 1, "of": 1}[words[0]]; ok && len(args) > most {
			s.Fatalf("%s has %d arguments", words[0], len(args))
		}
		var o frontier.Outcome
		switch words[0] {
		case "full":
			r = FullResult(s.Stage, t)
		case "deferred":
			d := frontier.Deferral{Reason: reason}
			if args[0] == "*" {
				d.Print = t.Tasks[0].Print
			} else {
				d.Print = s.task(args[0]).Print
			}
			for _, w := range args[1:] {
				if strings.Contains(w, "/") {
					d.URL = s.URL(w)
				} else {
					d.After = s.span(w)
				}
			}
			r.Deferred = append(r.Deferred, d)
		case "found":
			r.Found = s.candidates(args)
		case "extend":
			r.Extend = append(r.Extend, frontier.Seed{URL: s.URL(args[0]), Tag: "tag", From: "http://a.test/0"})
		case "host":
			r.Host = s.update(args, reason)
		case "token":
			n := frontier.Token(s.number(args[0]))
			if strings.ContainsAny(args[0], "+-") { // relative
				n += r.Token
			}
			r.Token = n
		case "of":
			r.Authority = s.Authority(args[0])
		case "wait":
			r.Wait = s.span(args[0])
		case "count":
			r.Counts = map[string]int64{}
			for _, w := range args {
				name, n, _ := strings.Cut(w, "=")
				r.Counts[name] = int64(s.number(n))
			}
		case "keep":
			if r.Keep = true; len(args) > 0 {
				r.Want = s.number(args[0])
			}
		default:
			require.NoError(s, o.UnmarshalText([]byte(words[0])))
			for _, u := range args {
				r.Done = append(r.Done, frontier.Done{Print: s.task(u).Print, Outcome: o, Reason: reason})
			}
			if len(args) == 0 {
				for _, x := range t.Tasks {
					r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: o, Reason: reason})
				}
			}
		}
	}
	return r
}

// update reads the state of a host: "parked pace=1m width=2 robots=r".
func (s *script) update(words []string, reason string) *frontier.HostUpdate {
	u := &frontier.HostUpdate{Reason: reason}
	for _, w := range words {
		switch name, value, _ := strings.Cut(w, "="); name {
		case "pace":
			u.Pace = s.span(value)
		case "width":
			u.Width = s.number(value)
		case "robots":
			u.Robots = []byte(value)
		case "memory":
			u.Memory = []byte(value)
		default:
			require.NoError(s, u.Condition.UnmarshalText([]byte(w)))
		}
	}
	return u
}

// retry calls Retry: "failed hosts robots @a (reason)".
func (s *script) retry(args string) string {
	words, reason := s.cutReason(args)
	r := frontier.Retrial{Reason: reason}
	for _, w := range words {
		switch {
		case w == "hosts":
			r.Hosts = true
		case w == "robots":
			r.Robots = true
		case w[0] == '@':
			r.Authority = s.Authority(w[1:])
		default:
			require.NoError(s, r.Outcome.UnmarshalText([]byte(w)))
		}
	}
	n := s.Retry(r)
	return counts("URLs hosts", n.URLs, n.Hosts)
}

// steer calls Steer: "a", "a 1h (reason)", or "a/1 a/2" to drop URLs.
func (s *script) steer(act frontier.Act, args string) string {
	words, reason := s.cutReason(args)
	if reason == "" {
		reason = reasonOf(act)
	}
	name, _, _ := strings.Cut(words[0], "/")
	c := frontier.Steering{Act: act, Authority: s.Authority(name), Reason: reason}
	for _, w := range words {
		switch {
		case strings.Contains(w, "/"):
			c.URLs = append(c.URLs, s.URL(w))
		case w != name:
			c.For = s.span(w)
		}
	}
	n, err := s.Frontier.Steer(s.Context(), c)
	require.NoErrorf(s, err, "Steer %+v", c)
	s.CheckSums()
	text := counts("URLs", n.URLs)
	if n.Changed {
		text = strings.TrimSuffix("changed, "+text, ", ")
	}
	return text
}

// entry compares Entry with facts, or with "unknown".
func (s *script) entry(args string) string {
	s.Helper()
	url, facts, _ := strings.Cut(args, " ")
	e, ok, err := s.Frontier.Entry(s.Context(), s.URL(url))
	switch {
	case err != nil:
		s.Fatalf("Entry: %v", err)
	case ok != (facts != "unknown"):
		s.Fatalf("the URL became a task: %v", ok)
	case ok:
		s.facts(e, facts)
	}
	return ""
}

// facts compares a value with facts: "Queued=3, gone=1, failed/status 500=1".
func (s *script) facts(of any, facts string) {
	s.Helper()
	for _, fact := range strings.Split(facts, ", ") {
		i := strings.LastIndex(fact, "=")
		require.Truef(s, i >= 0, "%s is not a fact", fact)
		name, want := fact[:i], fact[i+1:]
		got := factOf(of, name)
		require.Truef(s, got == want, "%s is %q", name, got)
	}
}

// factOf returns a field of a value, or a number of its outcomes, reasons, capped links or counts.
func factOf(of any, name string) string {
	v := reflect.ValueOf(of)
	kind, reason, detailed := strings.Cut(name, "/")
	var o frontier.Outcome
	switch {
	case kind == "capped":
		return fmt.Sprint(of.(frontier.Stats).Capped["cap: "+reason])
	case kind == "count":
		return fmt.Sprint(of.(frontier.Stats).Counts[reason])
	case o.UnmarshalText([]byte(kind)) == nil && detailed:
		return fmt.Sprint(of.(frontier.Stats).Reasons[o][reason])
	case o.UnmarshalText([]byte(kind)) == nil:
		return fmt.Sprint(v.FieldByName("Outcomes").Interface().(frontier.Outcomes)[o])
	case !v.FieldByName(name).IsValid():
		return "no fact"
	}
	switch x := v.FieldByName(name).Interface().(type) {
	case time.Duration:
		return spanText(x)
	case frontier.State:
		return stateText(x)
	case []byte:
		return string(x)
	case frontier.Hold:
		return holdText(x)
	default:
		return fmt.Sprint(x)
	}
}

// holdText describes a hold: "park 1h", with its reason unless it is the usual one.
func holdText(h frontier.Hold) string {
	if h == (frontier.Hold{}) {
		return ""
	}
	text := h.Act.String() + " " + spanText(h.Wait)
	if h.Reason != reasonOf(h.Act) {
		text += " (" + h.Reason + ")"
	}
	return text
}
