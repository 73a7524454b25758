-- Uses of skills are no longer counted.
DROP TABLE skill_use;
