package kinds

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// podState gathers what the status of a pod comes to in one row.
type podState struct {
	reason      string
	ready       int
	total       int
	restarts    int64
	lastRestart time.Time
	sidecars    map[string]bool
	sideCount   int64
	sideLast    time.Time
}

func podCells(obj map[string]any, now time.Time) []any {
	spec, status := child(obj, "spec"), child(obj, "status")
	p := podState{reason: or(text(status, "reason"), text(status, "phase")), total: len(listAt(spec, "containers")), sidecars: map[string]bool{}}
	for _, c := range objectsAt(spec, "initContainers") {
		if text(c, "restartPolicy") == "Always" {
			p.sidecars[text(c, "name")] = true
			p.total++
		}
	}
	for _, c := range objectsAt(status, "conditions") {
		if text(c, "type") == "PodScheduled" && text(c, "reason") == "SchedulingGated" {
			p.reason = "SchedulingGated"
		}
	}
	if !p.initContainers(spec, status) || initialized(status) {
		p.containers(status)
	}
	if textAt(obj, "metadata", "deletionTimestamp") != "" {
		switch phase := text(status, "phase"); {
		case text(status, "reason") == "NodeLost":
			p.reason = "Unknown"
		case phase != "Succeeded" && phase != "Failed":
			p.reason = "Terminating"
		}
	}
	restarts := strconv.FormatInt(p.restarts, 10)
	if p.restarts != 0 && !p.lastRestart.IsZero() {
		restarts += " (" + duration.HumanDuration(now.Sub(p.lastRestart)) + " ago)"
	}
	return []any{fmt.Sprintf("%d/%d", p.ready, p.total), p.reason, restarts, created(obj, now),
		or(podIP(status), none), or(text(spec, "nodeName"), none), or(text(status, "nominatedNodeName"), none), readinessGates(spec, status)}
}

func podIP(status map[string]any) string {
	if ips := objectsAt(status, "podIPs"); len(ips) > 0 {
		return text(ips[0], "ip")
	}
	return text(status, "podIP")
}

func readinessGates(spec, status map[string]any) string {
	gates := objectsAt(spec, "readinessGates")
	if len(gates) == 0 {
		return none
	}
	good := 0
	for _, g := range gates {
		if condition(status, text(g, "conditionType")) {
			good++
		}
	}
	return fmt.Sprintf("%d/%d", good, len(gates))
}

func initialized(status map[string]any) bool { return condition(status, "Initialized") }

// initContainers looks at the init containers; true if one of them is not done.
func (p *podState) initContainers(spec, status map[string]any) (initializing bool) {
	statuses := objectsAt(status, "initContainerStatuses")
	for i, c := range statuses {
		p.count(c)
		side := p.sidecars[text(c, "name")]
		if side {
			p.sideCount += intAt(c, "restartCount")
			p.sideLast = later(p.sideLast, finished(objectAt(c, "lastState", "terminated")))
		}
		state := child(c, "state")
		terminated, waiting := child(state, "terminated"), child(state, "waiting")
		switch {
		case terminated != nil && intAt(terminated, "exitCode") == 0:
			continue
		case side && c["started"] == true:
			if c["ready"] == true {
				p.ready++
			}
			continue
		case terminated != nil:
			p.reason = "Init:" + ended(terminated)
		case text(waiting, "reason") != "" && text(waiting, "reason") != "PodInitializing":
			p.reason = "Init:" + text(waiting, "reason")
		default:
			p.reason = fmt.Sprintf("Init:%d/%d", i, len(listAt(spec, "initContainers")))
		}
		return true
	}
	return false
}

// containers looks at the containers, the last first: the first has the last
// word on the reason.
func (p *podState) containers(status map[string]any) {
	p.restarts, p.lastRestart = p.sideCount, p.sideLast
	running := false
	statuses := objectsAt(status, "containerStatuses")
	for i := len(statuses) - 1; i >= 0; i-- {
		c := statuses[i]
		p.count(c)
		state := child(c, "state")
		terminated, waiting := child(state, "terminated"), child(state, "waiting")
		switch {
		case text(waiting, "reason") != "":
			p.reason = text(waiting, "reason")
		case terminated != nil:
			p.reason = ended(terminated)
		case c["ready"] == true && state["running"] != nil:
			running = true
			p.ready++
		}
	}
	if p.reason == "Completed" && running {
		if p.reason = "NotReady"; condition(status, "Ready") {
			p.reason = "Running"
		}
	}
}

// count adds the restarts of a container.
func (p *podState) count(c map[string]any) {
	p.restarts += intAt(c, "restartCount")
	p.lastRestart = later(p.lastRestart, finished(objectAt(c, "lastState", "terminated")))
}

func finished(terminated map[string]any) time.Time {
	t, _ := time.Parse(time.RFC3339, text(terminated, "finishedAt"))
	return t
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ended says how a container ended.
func ended(terminated map[string]any) string {
	if reason := text(terminated, "reason"); reason != "" {
		return reason
	}
	if n := intAt(terminated, "signal"); n != 0 {
		return fmt.Sprintf("Signal:%d", n)
	}
	return fmt.Sprintf("ExitCode:%d", intAt(terminated, "exitCode"))
}

func podTemplateCells(obj map[string]any, _ time.Time) []any {
	return append(containerCells(objectAt(obj, "template", "spec")), labelsText(objectAt(obj, "template", "metadata", "labels")))
}
