package ledger

import "time"

// Close ends the run with a mark, if there was anything to write, makes everything durable, commits to it in a last
// checkpoint, and waits for checkpoints and for the packing of segments. Lines behind the last checkpoint of a run that had
// another key are left to the next run. A poisoned Writer returns why it stopped.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	if w.err == nil && !w.ended {
		w.ready()
		at := time.Now()
		if w.last.After(at) { // the clock was set back, and the dates of lines do not follow it
			at = w.last
		}
		w.mark(Mark{Kind: KindStop, Time: at, Lines: w.lines})
		w.ended = true
	}
	w.closed = true
	w.mu.Unlock()
	w.commits.stop()
	if w.going || !w.foreign {
		w.commit()
	}

	w.mu.Lock()
	err := w.finish()
	done := w.packer.done
	w.mu.Unlock()
	if done != nil {
		<-done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		err = w.packer.err
	}
	return err
}

// finish closes all but the packing.
func (w *Writer) finish() error {
	if w.err == nil {
		_ = w.flush() // a failure is in w.err
	}
	err := w.err
	if w.file != nil {
		if err == nil {
			if serr := w.file.Sync(); serr != nil {
				err = w.poison("sync", serr)
			}
		}
		if cerr := w.file.Close(); err == nil && cerr != nil {
			err = w.poison("close", cerr)
		}
		w.file = nil
	}
	w.err = errClosed
	return err
}
