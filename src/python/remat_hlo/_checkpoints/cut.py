"""The minimum cut of a network with capacities, by Dinic's algorithm: O(nodes^2 * edges), in practice far less."""

INFINITE = 1 << 62


class Network:
    def __init__(self):
        self._edges = []     # [to, capacity], and each beside its reverse
        self._leaving = []   # numbers of edges by node

    def add_node(self):
        self._leaving.append([])
        return len(self._leaving) - 1

    def add_edge(self, begin, end, capacity):
        self._leaving[begin].append(len(self._edges))
        self._edges.append([end, capacity])
        self._leaving[end].append(len(self._edges))
        self._edges.append([begin, 0])

    def cut(self, source, sink):
        """Whether each node lies on the source's side of the minimum cut that is nearest to the sink."""
        while (levels := self._levels(source, sink)) is not None:
            places = [0] * len(self._leaving)
            while self._push(source, sink, levels, places):
                pass
        return self._far_from(sink)

    def _levels(self, source, sink):
        levels, front = [-1] * len(self._leaving), [source]
        levels[source] = 0
        for node in front:
            for number in self._leaving[node]:
                end, capacity = self._edges[number]
                if capacity and levels[end] < 0:
                    levels[end] = levels[node] + 1
                    front.append(end)
        return levels if levels[sink] >= 0 else None

    def _push(self, source, sink, levels, places):
        """Sends as much as one shortest path takes. Returns whether there was one."""
        path, node = [], source
        while node != sink:
            if places[node] == len(self._leaving[node]):
                if not path:
                    return False
                levels[node] = -1
                node = self._edges[path.pop() ^ 1][0]
                places[node] += 1
                continue
            number = self._leaving[node][places[node]]
            end, capacity = self._edges[number]
            if capacity and levels[end] == levels[node] + 1:
                path.append(number)
                node = end
            else:
                places[node] += 1
        amount = min(self._edges[number][1] for number in path)
        for number in path:
            self._edges[number][1] -= amount
            self._edges[number ^ 1][1] += amount
        return True

    def _far_from(self, sink):
        reaches, front = [False] * len(self._leaving), [sink]
        reaches[sink] = True
        for node in front:
            for number in self._leaving[node]:
                begin = self._edges[number][0]
                if self._edges[number ^ 1][1] and not reaches[begin]:
                    reaches[begin] = True
                    front.append(begin)
        return [not one for one in reaches]
