package server

import (
	"context"
	"errors"
	"fmt"
)

// Stop ends the server in order: /readyz fails, watches end after the event
// they are writing, requests in flight are answered (for at most
// Options.ShutdownTimeout, or until ctx ends), a snapshot is taken, the log is
// closed. Stopping twice is stopping once.
func (s *Server) Stop(ctx context.Context) error {
	return s.end(nil, func() error {
		s.api.ShutDown()
		drain, cancel := context.WithTimeout(ctx, s.opts.ShutdownTimeout)
		defer cancel()
		if err := s.http.Shutdown(drain); err != nil {
			s.logger.Warn("requests were cut short at shutdown", "error", err)
		}
		return s.close(ctx, true)
	})
}

// Kill ends the server without a snapshot and without waiting for anybody, as
// near to a crash as a process can do to itself. It is for tests.
func (s *Server) Kill() {
	_ = s.end(nil, func() error { return s.close(context.Background(), false) })
}

// end runs shutDown once and tells Wait's channel why the server ended.
func (s *Server) end(cause error, shutDown func() error) error {
	s.stopping.Do(func() {
		s.stopErr = shutDown()
		s.ended <- errors.Join(cause, s.stopErr)
		close(s.ended)
	})
	return s.stopErr
}

// close ends the parts that have been started, in the reverse order of their
// start, with a last snapshot if asked for.
func (s *Server) close(ctx context.Context, snapshot bool) error {
	var errs []error
	if s.http != nil {
		_ = s.http.Close() // what is still open has had its time
	}
	if s.listener != nil {
		_ = s.listener.Close() // again, where serve had not begun
	}
	if snapshot && s.log.Err() == nil {
		if _, err := s.keeper.TakeNow(ctx); err != nil {
			errs = append(errs, fmt.Errorf("last snapshot: %w", err))
		}
	}
	s.cancel(errStopped)
	s.parts.Wait()
	if s.log != nil {
		if err := s.log.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the log: %w", err))
		}
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
	return errors.Join(errs...)
}
