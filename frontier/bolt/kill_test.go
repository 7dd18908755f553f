package bolt

// kill ends f as the death of the process would: nothing more is committed, the stop is not marked as clean.
func (f *Frontier) kill() {
	f.mu.Lock()
	f.closed = true
	f.waiting.wakeAll()
	f.mu.Unlock()
	f.writer.stop()
	<-f.writer.stopped
	f.db.Close()
}
