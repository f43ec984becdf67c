PRAGMA application_id = 1651471220;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE studies (
        id        INTEGER PRIMARY KEY,
        name      TEXT NOT NULL UNIQUE,
        domain    TEXT NOT NULL,          -- JSON: the search space
        method    TEXT NOT NULL,          -- JSON: name, searcher, settings
        seed      TEXT NOT NULL,          -- decimal: may exceed 64 bits
        direction TEXT NOT NULL CHECK (direction IN ('minimize', 'maximize')),
        initial   TEXT NOT NULL,          -- JSON: the user's own first points
        state     TEXT NOT NULL,          -- JSON: what the searcher needs at the next ask
        created   REAL NOT NULL,          -- seconds since the epoch
        version   TEXT NOT NULL           -- of bostruct, when created
    );
INSERT INTO "studies" VALUES(1,'s','{"domain": "space", "variables": {"a": {"kind": "Categorical", "choices": ["x", "y", "z"]}, "o": {"kind": "Ordinal", "choices": [1, 2, 4, 8, 16]}, "i": {"kind": "Integer", "low": 0, "high": 9}, "b": {"kind": "Binary"}, "g": {"kind": "Graph", "choices": [0, 1, 2, 3], "edges": [[0, 1, 1.0], [0, 3, 1.0], [1, 2, 1.0], [2, 3, 1.0]]}}, "constraints": 0}','{"name": "combo", "searcher": "BayesianSearch", "settings": {"surrogate": {"part": "MarginalizedGP", "kernel": {"part": "DiffusionKernel", "graphs": "tuple", "prior": {"part": "LogHorseshoe", "scale": 5.0, "low": -12.0, "high": 4.60517018599}, "link": {"part": "LogEdgeWeight", "name": "log_edge_weight"}, "initial": 0.0, "unit_diagonal": false}, "join": "Space.join", "priors": {"part": "ComboPriors", "log_smallest": -11.889702672, "log_largest": 4.63044434934}, "nugget": 1e-06, "burn_in": 100, "samples": 10, "shared_mean": false}, "acquisition": {"part": "ExpectedImprovement"}, "maximizer": {"part": "LocalSearch", "random": 20000, "spray": 20, "ascents": 20, "leaps": false, "most": null}, "n_initial": 20, "n_starts": 1, "incumbent": "best_observed", "feasibility": null, "design": "drawn", "surroundings": "neighboring"}}','3','minimize','[]','{"surrogate": null}',1.79530478288953065871e+09,'0.1.0');
CREATE TABLE trials (
        id       INTEGER PRIMARY KEY,
        study    INTEGER NOT NULL REFERENCES studies (id),
        number   INTEGER NOT NULL,
        status   TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'infeasible')),
        point    TEXT NOT NULL,           -- JSON
        value    REAL,                    -- in the user's direction; NULL unless completed
        reason   TEXT,                    -- NULL unless failed or infeasible
        info     TEXT NOT NULL,           -- JSON: how it was chosen, what that cost
        started  REAL NOT NULL,           -- seconds since the epoch
        finished REAL,
        told     INTEGER,                 -- position in the order of telling, from 0
        attempts INTEGER NOT NULL,        -- times handed out, less the times taken back in good order
        UNIQUE (study, number)
    );
INSERT INTO "trials" VALUES(1,1,0,'completed','{"a": "y", "o": 4, "i": 1, "b": false, "g": 1}',96.436,NULL,'{"origin": "initial", "suggest_seconds": 0.0004276720000007117}',1.79530478289601469043e+09,1.79530478289713335037e+09,0,1);
INSERT INTO "trials" VALUES(2,1,1,'completed','{"a": "z", "o": 1, "i": 1, "b": true, "g": 2}',15.728,NULL,'{"origin": "initial", "suggest_seconds": 0.00035254099998383026}',1.79530478289827013019e+09,1.79530478289896225927e+09,1,1);
INSERT INTO "trials" VALUES(3,1,2,'completed','{"a": "z", "o": 1, "i": 4, "b": false, "g": 3}',74.26,NULL,'{"origin": "initial", "suggest_seconds": 0.0002603039999939938}',1.79530478289980030062e+09,1.79530478290038967128e+09,2,1);
INSERT INTO "trials" VALUES(4,1,3,'completed','{"a": "y", "o": 2, "i": 0, "b": true, "g": 0}',64.606,NULL,'{"origin": "initial", "suggest_seconds": 0.00027320599997437967}',1.79530478290122890469e+09,1.79530478290203452111e+09,3,1);
INSERT INTO "trials" VALUES(5,1,4,'completed','{"a": "z", "o": 8, "i": 3, "b": false, "g": 2}',99.731,NULL,'{"origin": "initial", "suggest_seconds": 0.0003088739999839163}',1.79530478290301370616e+09,1.79530478290366387371e+09,4,1);
INSERT INTO "trials" VALUES(6,1,5,'completed','{"a": "z", "o": 16, "i": 0, "b": true, "g": 0}',59.225,NULL,'{"origin": "initial", "suggest_seconds": 0.00035031400000207213}',1.79530478290467071533e+09,1.79530478290536189074e+09,5,1);
INSERT INTO "trials" VALUES(7,1,6,'failed','{"a": "z", "o": 2, "i": 8, "b": false, "g": 1}',NULL,'no memory','{"origin": "initial", "suggest_seconds": 0.0002829600000495702}',1.79530478290624690056e+09,1.79530478290690040585e+09,6,1);
INSERT INTO "trials" VALUES(8,1,7,'completed','{"a": "y", "o": 16, "i": 6, "b": false, "g": 1}',46.894,NULL,'{"origin": "initial", "suggest_seconds": 0.00024695700005850085}',1.79530478290775299078e+09,1.79530478290838384626e+09,7,1);
INSERT INTO "trials" VALUES(9,1,8,'completed','{"a": "y", "o": 2, "i": 5, "b": false, "g": 3}',59.872,NULL,'{"origin": "initial", "suggest_seconds": 0.000278244000014638}',1.79530478290926289557e+09,1.79530478291006493568e+09,8,1);
INSERT INTO "trials" VALUES(10,1,9,'completed','{"a": "x", "o": 2, "i": 4, "b": true, "g": 0}',6.346,NULL,'{"origin": "initial", "suggest_seconds": 0.0002788120000332128}',1.79530478291097927087e+09,1.79530478291159772876e+09,9,1);
INSERT INTO "trials" VALUES(11,1,10,'completed','{"a": "x", "o": 16, "i": 8, "b": true, "g": 3}',5.221,NULL,'{"origin": "initial", "suggest_seconds": 0.00024330500002633926}',1.79530478291246128083e+09,1.79530478291305685043e+09,10,1);
INSERT INTO "trials" VALUES(12,1,11,'completed','{"a": "x", "o": 1, "i": 2, "b": true, "g": 0}',62.277,NULL,'{"origin": "initial", "suggest_seconds": 0.0002489949999926466}',1.79530478291394114493e+09,1.79530478291455793376e+09,11,1);
INSERT INTO "trials" VALUES(13,1,12,'running','{"a": "z", "o": 4, "i": 8, "b": false, "g": 3}',NULL,NULL,'{"origin": "initial", "suggest_seconds": 0.0002623840000524069}',1.79530478291545891756e+09,NULL,NULL,0);
INSERT INTO "trials" VALUES(14,1,13,'completed','{"a": "y", "o": 2, "i": 9, "b": false, "g": 3}',32.048,NULL,'{"origin": "initial", "suggest_seconds": 0.00021265199995923467}',1.79530478291650366778e+09,1.79530478291712689399e+09,12,1);
COMMIT;
