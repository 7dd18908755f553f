package pacing

import "curtsy/storage/audit/evidence"

// Taken is what was taken down of a host (docs/trust/opt-out.md), as far as marks, stubs and the map of hosts tell. Nobody knows
// any more what it said: how soon it was answered, whether it had a RateLimit. All else binds as ever, and so do those
// of the last response times that are there.
type Taken struct {
	Before int // exchanges with the host since the last one that is there, at most
	InAll  int // and ever, at most
}

// mostTaken is how many of those between two exchanges are reckoned with. Of five response times three that nobody knows
// make the middle one anything.
const mostTaken = (usualOf + 1) / 2

// taken takes what may have been taken down before an exchange with the host.
func (h *Host) taken(x *evidence.Joined, t Taken) {
	h.answers.mostOut = t.InAll
	if t.Before == 0 || x.Exchange.Own { // of an operator's own host response times and RateLimit say nothing of the pace
		return
	}
	h.unheard, h.unread = true, true
	for range min(t.Before, t.InAll, mostTaken) {
		h.answers.add(answerTime{most: answerMost / answerFactor, taken: true})
	}
}
